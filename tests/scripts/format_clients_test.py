"""The official clients of OpenAI and Anthropic, for Node and for Python, take what our stream
writers and readers write: the same text, calls, usage and end, streamed and not."""
import json
import os
import subprocess
import sys
import unittest

from client_run import BUILD, ClientSet

TEXT = "Let me \"look\"\n€😀."
CALLS = [["c1", "f", {"a": [1, "é"]}], ["c2", "g", {}]]
ENDS = {"openai_chat": {"text": "stop", "calls": "tool_calls"},
        "openai_responses": {"text": "completed", "calls": "completed"},
        "anthropic": {"text": "end_turn", "calls": "tool_use"}}

CLIENTS = ClientSet("format_clients", ["openai@7", "@anthropic-ai/sdk@1"],
                    22,  # From version 7 on the client of OpenAI needs Node 22.
                    ["openai", "anthropic"])


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
        self.check(*CLIENTS.node())

    def test_python_clients_take_streams_and_replies(self):
        self.check(*CLIENTS.python())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
