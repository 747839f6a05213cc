#!/usr/bin/env python3
"""bench_files.py PROGRAM: the files store, then the same appends with LangGraph's SqliteSaver.

The saver comes from npm into build/peers. It stores the whole history with every put. Both append
100 messages to a conversation of 1,000; disk use is of all that is there afterwards.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PEERS = os.path.join(ROOT, "build", "peers", "langgraph")
PACKAGES = ["@langchain/langgraph-checkpoint-sqlite@1.0.4", "@langchain/langgraph-checkpoint@1.1.5",
            "@langchain/core@1"]
SAVER = """
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import fs from "fs";
const message = (i) => ({ role: "user", content: "x".repeat(1024) + i });
async function appends(path, history, count) {
  const saver = SqliteSaver.fromConnString(path);
  let config = { configurable: { thread_id: "one", checkpoint_ns: "" } };
  const messages = Array.from({ length: history }, (_, i) => message(i));
  const times = [];
  for (let i = 0; i < count; i++) {
    messages.push(message(history + i));
    const checkpoint = { v: 4, id: uuid6(i), ts: new Date().toISOString(),
      channel_values: { messages: [...messages] }, channel_versions: { messages: i + 1 }, versions_seen: {} };
    const start = process.hrtime.bigint();
    config = await saver.put(config, checkpoint, { source: "loop", step: i, parents: {} }, { messages: i + 1 });
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  saver.db.close();
  times.sort((a, b) => a - b);
  const disk = [path, path + "-wal"].filter((f) => fs.existsSync(f)).reduce((sum, f) => sum + fs.statSync(f).size, 0);
  return { us: times[times.length >> 1], disk };
}
const folder = fs.mkdtempSync(process.argv[2] + "/saver_");
console.log(JSON.stringify(await appends(folder + "/saver.db", 1000, 100)));
fs.rmSync(folder, { recursive: true });
"""


def fetch():
    os.makedirs(PEERS, exist_ok=True)
    with open(os.path.join(PEERS, "put.mjs"), "w", encoding="utf8") as file:
        file.write(SAVER)
    if os.path.exists(os.path.join(PEERS, "node_modules", "@langchain", "langgraph-checkpoint-sqlite")):
        return True
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *PACKAGES], cwd=PEERS,
                          check=False)
    return done.returncode == 0


def main():
    done = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True, check=False)
    ours = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] in ("append_at_1000_us", "disk_bytes"):
            ours[words[0]] = float(words[1])
        else:
            print(line)
    if not fetch():
        print("LangGraph's SqliteSaver could not be fetched from npm: left out")
        return done.returncode
    saver = json.loads(subprocess.run(["node", "put.mjs", os.path.dirname(os.path.abspath(sys.argv[1]))],
                                      cwd=PEERS, stdout=subprocess.PIPE, check=True).stdout)
    faster, smaller = saver["us"] / ours["append_at_1000_us"], saver["disk"] / ours["disk_bytes"]
    print(f"append at 1,000 messages against SqliteSaver put: files {ours['append_at_1000_us']:.0f} us, "
          f"saver {saver['us']:.0f} us, ratio {faster:.1f}, goal >= 20, {'met' if faster >= 20 else 'NOT MET'}")
    print(f"disk of 1,100 messages, 100 appended one by one: files {ours['disk_bytes'] / 1024:.0f} KB, saver "
          f"{saver['disk'] / 1024:.0f} KB, ratio {smaller:.1f}, goal >= 50, {'met' if smaller >= 50 else 'NOT MET'}")

    return done.returncode or int(faster < 20 or smaller < 50)


sys.exit(main())
