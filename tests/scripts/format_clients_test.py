"""The official clients of OpenAI and Anthropic, for Node and for Python, take what our stream
writers and readers write: the same text, calls, usage and end, streamed and not."""
import json
import os
import shutil
import subprocess
import sys
import unittest

BUILD, SOURCE = sys.argv[1], sys.argv[2]
FOLDER = os.path.abspath(os.path.join(BUILD, "format_clients"))
SCRIPTS = os.path.join(SOURCE, "tests", "scripts")
TEXT = "Let me \"look\"\n€😀."
CALLS = [["c1", "f", {"a": [1, "é"]}], ["c2", "g", {}]]
ENDS = {"openai_chat": {"text": "stop", "calls": "tool_calls"},
        "openai_responses": {"text": "completed", "calls": "completed"},
        "anthropic": {"text": "end_turn", "calls": "tool_use"}}


def fetch(command, there):
    """Says why the clients cannot be had, or nothing. They stay in the build folder."""
    if os.path.exists(there):
        return None
    os.makedirs(FOLDER, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        return "the registry did not answer in time"
    return None if done.returncode == 0 else "the clients cannot be had: " + done.stderr.strip()[-300:]


def node_clients():
    """The command that runs a script with them, or why there is none."""
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "node and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    # From version 7 on the client of OpenAI needs Node 22, which npm has too.
    newer = [] if int(version.lstrip("v").split(".")[0]) >= 22 else ["node@22"]
    modules = os.path.join(FOLDER, "node_modules")
    node = os.path.join(modules, "node", "bin", "node") if newer else "node"
    reason = fetch(["npm", "install", "--prefix", FOLDER, "--no-audit", "--no-fund",
                    "--fetch-retries=0", "openai@7", "@anthropic-ai/sdk@1", *newer],
                   node if newer else os.path.join(modules, "@anthropic-ai", "sdk"))
    return [node, os.path.join(SCRIPTS, "format_clients.mjs"), FOLDER], reason


def python_clients():
    folder = os.path.join(FOLDER, "python")
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        return None, "pip is not installed"
    reason = fetch([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                    "--target", folder, "openai", "anthropic"], os.path.join(folder, "anthropic"))
    return ["env", "PYTHONPATH=" + folder, sys.executable,
            os.path.join(SCRIPTS, "format_clients.py")], reason


class Clients(unittest.TestCase):
    def check(self, command, reason):
        if reason:
            print("skipped: " + reason)
            self.skipTest(reason)
        streams = subprocess.run([os.path.join(BUILD, "format_streams")], capture_output=True)
        self.assertEqual(streams.returncode, 0, streams.stderr)
        done = subprocess.run(command, input=streams.stdout, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        seen = json.loads(done.stdout)
        for name, ends in ENDS.items():
            for scene, end in ends.items():
                for way in ("stream", "reply"):
                    with self.subTest(format=name, scene=scene, way=way):
                        self.assertEqual(seen[name][scene][way], {
                            "text": TEXT, "calls": CALLS if scene == "calls" else [],
                            "usage": [70, 30], "end": end})

    def test_node_clients_take_streams_and_replies(self):
        self.check(*node_clients())

    def test_python_clients_take_streams_and_replies(self):
        self.check(*python_clients())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
