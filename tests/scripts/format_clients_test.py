"""The official clients of OpenAI and Anthropic take what our stream writers and readers write:
the same text, calls, usage and end, streamed and not."""
import json
import os
import shutil
import subprocess
import sys
import unittest

BUILD, SOURCE = sys.argv[1], sys.argv[2]
FOLDER = os.path.abspath(os.path.join(BUILD, "format_clients"))
TEXT = "Let me \"look\"\n€😀."
CALLS = [["c1", "f", {"a": [1, "é"]}], ["c2", "g", {}]]
ENDS = {"openai_chat": {"text": "stop", "calls": "tool_calls"},
        "openai_responses": {"text": "completed", "calls": "completed"},
        "anthropic": {"text": "end_turn", "calls": "tool_use"}}


def install():
    """Says why the clients cannot be had, or nothing. They stay in the build folder."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    # From version 7 on the client needs Node 22.
    openai = "openai" if int(version.lstrip("v").split(".")[0]) >= 22 else "openai@6"
    if os.path.exists(os.path.join(FOLDER, "node_modules", "@anthropic-ai", "sdk")):
        return None
    os.makedirs(FOLDER, exist_ok=True)
    try:
        done = subprocess.run(["npm", "install", "--prefix", FOLDER, "--no-audit", "--no-fund",
                               "--fetch-retries=0", openai, "@anthropic-ai/sdk"],
                              capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "the npm registry did not answer in time"
    return None if done.returncode == 0 else "npm install failed: " + done.stderr.strip()[-300:]


class Clients(unittest.TestCase):
    def test_official_clients_take_streams_and_replies(self):
        reason = install()
        if reason:
            print("skipped: " + reason)
            self.skipTest(reason)
        streams = subprocess.run([os.path.join(BUILD, "format_streams")], capture_output=True)
        self.assertEqual(streams.returncode, 0, streams.stderr)
        script = os.path.join(SOURCE, "tests", "scripts", "format_clients.mjs")
        done = subprocess.run(["node", script, FOLDER], input=streams.stdout, capture_output=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        seen = json.loads(done.stdout)
        for name, ends in ENDS.items():
            for scene, end in ends.items():
                for way in ("stream", "reply"):
                    with self.subTest(format=name, scene=scene, way=way):
                        self.assertEqual(seen[name][scene][way], {
                            "text": TEXT, "calls": CALLS if scene == "calls" else [],
                            "usage": [70, 30], "end": end})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
