// node count.mjs FOLDER ROUNDS FILE...: npm tiktoken and gpt-tokenizer, installed in FOLDER, over
// the files of bench_tokens.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const [folder, rounds, ...files] = process.argv.slice(2);
const require = createRequire(folder + "/");
const { get_encoding } = require("tiktoken");
const names = ["o200k_base", "cl100k_base"];
const peers = {
  "npm-tiktoken": names.map((name) => { const e = get_encoding(name); return (text) => e.encode_ordinary(text).length; }),
  "gpt-tokenizer": names.map((name) => { const e = require("gpt-tokenizer/encoding/" + name); return (text) => e.countTokens(text, { disallowedSpecial: new Set() }); }),
};
for (const file of files) {
  const data = readFileSync(file), texts = [];
  for (let at = 0, i = 0; at < data.length; ++i) {
    const size = data.readUInt32LE(at);
    if (i % 2) texts.push(data.toString("utf8", at + 4, at + 4 + size));
    at += 4 + size;
  }
  if (texts.length === 0) continue;
  const megabytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 1e6;
  for (const [who, counts] of Object.entries(peers))
    counts.forEach((count, i) => {
      const speeds = [];
      let tokens = 0;
      for (let round = 0; round < rounds; ++round) {
        const start = process.cpuUsage();
        tokens = texts.reduce((sum, text) => sum + count(text), 0);
        const spent = process.cpuUsage(start);
        speeds.push(megabytes / ((spent.user + spent.system) / 1e6));
      }
      speeds.sort((a, b) => a - b);
      console.log(`${who} ${names[i]} ${file.split("/").pop()} median ${speeds[rounds >> 1].toFixed(1)} best ${speeds.at(-1).toFixed(1)} tokens ${tokens}`);
    });
}
