"""A process that is killed while it makes a response: what was finished is there after a restart,
what was not is told as incomplete."""
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rule_upstream import RuleUpstream  # noqa: E402

PAL = os.path.abspath(os.path.join(sys.argv[1], "pal"))


class Server:
    def __init__(self, folder):
        self.process = subprocess.Popen([PAL, "serve", "--listen", "127.0.0.1:0", "--json",
                                         "--log-level", "quiet"], cwd=folder, stdout=subprocess.PIPE)
        host, port = json.loads(self.process.stdout.readline())["listen"].rsplit(":", 1)
        self.address = (host, int(port))

    def ask(self, method, path, body=None, **headers):
        if body:
            headers["Content-Type"] = "application/json"
        with contextlib.closing(http.client.HTTPConnection(*self.address, timeout=30)) as link:
            link.request(method, path, json.dumps(body) if body else None, headers)
            answer = link.getresponse()
            text = answer.read().decode()
        return json.loads(text) if answer.getheader("Content-Type", "").startswith("application/json") else text

    def end(self, sign):
        self.process.send_signal(sign)
        self.process.wait(30)
        self.process.stdout.close()


class Killed(unittest.TestCase):
    def test_a_killed_process_leaves_an_incomplete_response(self):
        upstream = RuleUpstream()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
                file.write(f'model = "m"\n[models.m]\nurl = "{upstream.url()}"\nproxy = "none"\n')
            server = Server(folder)
            done = server.ask("POST", "/v1/responses", {"input": "one"})
            cut = server.ask("POST", "/v1/responses", {"input": "slow", "background": True,
                                                       "previous_response_id": done["id"]})
            while not any("slow" in json.dumps(request) for request in upstream.requests):
                time.sleep(0.02)
            time.sleep(0.3)  # some of its events are kept by now
            server.end(signal.SIGKILL)

            server = Server(folder)
            self.assertEqual(server.ask("GET", "/v1/responses/" + done["id"])["output"], done["output"])
            status = "in_progress"
            for _ in range(400):  # until nobody can be making it any more
                status = server.ask("GET", "/v1/responses/" + cut["id"])["status"]
                if status != "in_progress":
                    break
                time.sleep(0.1)
            self.assertEqual(status, "incomplete")
            events = server.ask("GET", f"/v1/responses/{cut['id']}?stream=true")
            numbers = [json.loads(line[6:])["sequence_number"] for line in events.split("\n")
                       if line.startswith("data: ")]
            self.assertEqual(numbers, list(range(len(numbers))))
            self.assertIn("response.output_text.delta", events, "what was kept of its stream")
            self.assertIn("response.incomplete", events.strip().split("\n\n")[-1])
            again = server.ask("POST", "/v1/responses", {"input": "two",
                                                         "previous_response_id": done["id"]})
            self.assertEqual(again["output"][0]["content"][0]["text"],
                             "3 messages, the last one: two")
            server.end(signal.SIGTERM)
        upstream.shutdown()
        upstream.server_close()

    def test_a_repeat_of_a_stream_whose_server_was_killed_gets_its_answer_at_once(self):
        upstream = RuleUpstream()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
                file.write(f'model = "m"\n[models.m]\nurl = "{upstream.url()}"\nproxy = "none"\n')
            for body in ({"input": "late one"}, {"input": "late two", "background": True}):
                path, said = "/v1/responses", {"Idempotency-Key": "k-" + body["input"][-3:]}
                server = Server(folder)
                body["stream"] = True
                asked = len(upstream.requests)
                cut = threading.Thread(target=self.lost, args=(server, path, body, said))
                cut.start()
                while len(upstream.requests) == asked:
                    time.sleep(0.02)
                time.sleep(0.6)  # it says by now that it is under way
                server.end(signal.SIGKILL)
                cut.join()

                server = Server(folder)
                begun = time.monotonic()
                answer = server.ask("POST", path, body, **said)
                self.assertLess(time.monotonic() - begun, 10)
                self.assertIn("messages,", answer, body)
                self.assertNotIn("incomplete", answer.replace("incomplete_details", ""), body)
                server.end(signal.SIGTERM)
        upstream.shutdown()
        upstream.server_close()

    def lost(self, server, path, body, headers):
        with self.assertRaises((http.client.HTTPException, OSError)):
            server.ask("POST", path, body, **headers)

    def test_a_server_that_is_told_to_end_keeps_what_came_of_a_response(self):
        upstream = RuleUpstream()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
                file.write(f'model = "m"\ngrace_ms = 200\n[models.m]\nurl = "{upstream.url()}"\n'
                           'proxy = "none"\n')
            server = Server(folder)
            cut = server.ask("POST", "/v1/responses", {"input": "slow", "background": True})
            while not any("slow" in json.dumps(request) for request in upstream.requests):
                time.sleep(0.02)
            time.sleep(0.3)
            server.end(signal.SIGTERM)
            self.assertEqual(server.process.returncode, 0)

            server = Server(folder)
            told = server.ask("GET", "/v1/responses/" + cut["id"])
            self.assertEqual(told["status"], "incomplete")
            self.assertEqual(told["incomplete_details"], {"reason": "interrupted"})
            self.assertNotEqual(told["output"], [], "what came of it")
            server.end(signal.SIGTERM)
        upstream.shutdown()
        upstream.server_close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
