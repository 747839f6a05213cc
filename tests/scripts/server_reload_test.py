"""SIGHUP: `pal serve` takes its settings file anew, all of it or nothing, and says which."""
import http.client
import json
import os
import signal
import subprocess

from pal_run import PROGRAM, PalTest, clean_environment, main

TWO_MODELS = '[models.%s]\nurl = "http://127.0.0.1:9/v1"\n[models.b]\nurl = "http://127.0.0.1:9/v1"\n'


class Reload(PalTest):
    def start(self, text):
        self.write("palimpsest.toml", text)
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--json"], cwd=self.folder,
            env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.stop)
        self.address = json.loads(self.process.stdout.readline())["listen"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(30), 0)
        self.process.stdout.close()
        self.process.stderr.close()

    def reload(self, text):
        """The line that is logged of it; those of requests before it are left out."""
        if text is not None:
            self.write("palimpsest.toml", text)
        self.process.send_signal(signal.SIGHUP)
        while True:
            line = json.loads(self.process.stderr.readline())
            if line["event"] == "reload":
                return line

    def ask(self, method, path, body=None, headers=None):
        link = http.client.HTTPConnection(self.address, timeout=30)
        fields = {"Content-Type": "application/json"} if body is not None else {}
        link.request(method, path, body, {**fields, **(headers or {})})
        answer = link.getresponse()
        text = answer.read()
        link.close()
        return answer.status, json.loads(text)

    def models(self):
        return {row["id"] for row in self.ask("GET", "/v1/models")[1]["data"]}

    def test_what_can_change_does(self):
        self.start(TWO_MODELS % "a")
        self.assertEqual(self.models(), {"echo", "a", "b"})
        self.assertEqual(self.ask("GET", "/api/v1/agents")[1]["data"], [])
        line = self.reload('model = "c"\nhosts = "example.org"\nbody_bytes_max = 2000\n'
                           'json_depth_max = 5\nitems_max = 3\nlog_level = "quiet"\n' +
                           TWO_MODELS % "c" + '[agents.help]\nsystem_prompt = "Help."\n')
        self.assertEqual(line["outcome"], "done")
        self.assertEqual(set(line["changed"]), {"model", "hosts", "body_bytes_max",
                                                "json_depth_max", "items_max", "log_level",
                                                "models", "agents"})
        self.assertEqual(line["after_restart"], [])
        self.assertEqual(self.ask("GET", "/healthz")[0], 403)
        known = {"Host": "example.org"}
        _, listed = self.ask("GET", "/v1/models", headers=known)
        self.assertEqual([row["id"] for row in listed["data"]], ["c", "b"])
        _, agents = self.ask("GET", "/api/v1/agents", headers=known)
        self.assertEqual([row["key"] for row in agents["data"]], ["help"])
        path = "/api/v1/conversations"
        self.assertEqual(self.ask("POST", path, " " * 3000, known)[0], 413)
        self.assertEqual(self.ask("POST", path, '{"metadata":{"a":[[[[1]]]]}}', known)[0], 400)
        four = json.dumps({"messages": [{"role": "user", "content": "x"}] * 4})
        status, refused = self.ask("POST", path + "/a/messages", four, known)
        self.assertEqual((status, refused["error"]["code"]), (413, "too_large"))
        self.assertEqual(refused["error"]["param"], "messages")

    def test_only_what_changed_is_named(self):
        self.start(TWO_MODELS % "a")
        line = self.reload("items_max = 7\n" + TWO_MODELS % "a")
        self.assertEqual(line["changed"], ["items_max"])
        line = self.reload("items_max = 7\n" + TWO_MODELS % "c")
        self.assertEqual(line["changed"], ["models"])
        line = self.reload("items_max = 7\n" + TWO_MODELS % "c" + "[agents.a]\nmodel = \"c\"\n")
        self.assertEqual(line["changed"], ["agents"])

    def test_a_bad_file_changes_nothing_and_is_named(self):
        self.start('items_max = 2\n' + TWO_MODELS % "a")
        for text, blamed in (("items_max = ", "palimpsest.toml"),
                             ("items_max = -1", "items_max"),
                             ("item_max = 9", "item_max"),
                             ('items_max = 9\nmodel = "nobody"\n', "model"),
                             ('items_max = 9\n[models.x]\nurl = "ftp://x"\n', "x"),
                             ("items_max = 9\n[agents.x]\nsystem = 1\n", "agents")):
            line = self.reload(text)
            self.assertEqual(line["outcome"], "refused", text)
            self.assertIn(blamed, line["message"] + line["param"])
            self.assertEqual(self.models(), {"echo", "a", "b"})
            three = json.dumps({"messages": [{"role": "user", "content": "x"}] * 3})
            self.assertEqual(self.ask("POST", "/api/v1/conversations/a/messages", three)[0], 413)
        self.assertEqual(self.reload("")["outcome"], "done")
        acts = self.ask("GET", "/api/v1/audit")[1]["data"]
        self.assertEqual([row["act"] for row in acts], ["settings.reload"] * 7)
        self.assertEqual([row["outcome"] for row in acts[:2]], ["done", "invalid_request"])

    def test_a_file_that_is_gone_changes_nothing(self):
        self.start(TWO_MODELS % "a")
        os.remove(self.path("palimpsest.toml"))
        line = self.reload(None)
        self.assertEqual((line["outcome"], line["param"]), ("refused", "config"))
        self.assertEqual(self.models(), {"echo", "a", "b"})
        self.assertEqual(self.reload("")["outcome"], "done")
        self.assertEqual(self.models(), {"echo"})

    def test_what_needs_a_restart_is_named_and_stays(self):
        self.start("")
        line = self.reload('store = "memory:"\nstore_threads = 2\nqueue_max = 7\n'
                           'tls_cert = "x.pem"\ntls_key = "x.key"\n')
        self.assertEqual((line["outcome"], line["changed"]), ("done", ["queue_max"]))
        self.assertEqual(set(line["after_restart"]), {"store", "store_threads", "tls_cert",
                                                      "tls_key"})
        self.ask("POST", "/api/v1/conversations/a/messages",
                 '{"messages":[{"role":"user","content":"x"}]}')
        again = self.reload("")
        self.assertEqual((again["changed"], again["after_restart"]), (["queue_max"], []))
        self.assertEqual(self.ok("show", "a", "--json").json()["messages"], 1)

    def test_all_that_is_left_as_it_was_is_named(self):
        """Every setting that a server does not take anew, as the table in docs/SERVER.md says."""
        counted = '[models.own]\nurl = "http://127.0.0.1:9/v1"\nencoding = "%s"\n'
        self.start(counted % "o200k_base")
        left = {"tenant": "other", "tokenizer": "cl100k_base", "message_bytes_max": 1000,
                "summarizer": "own", "summarizer_window": 5000, "summary_deadline_ms": 5,
                "turns": "refuse", "turn_wait_ms": 5, "turns_max": 5, "network_threads": 2,
                "store_threads": 2, "otlp_endpoint": "http://127.0.0.1:9",
                "trace_sample_percent": 5, "trace_content": True}
        taken = {"client_gone": "finish", "unknown_model": "default", "grace_ms": 100}
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in {**left, **taken}.items())
        line = self.reload(text + counted % "cl100k_base")
        self.assertEqual(line["outcome"], "done", line)
        self.assertEqual(set(line["after_restart"]), set(left) | {"models.own.encoding"})
        self.assertEqual(set(line["changed"]), set(taken) | {"models"})

    def test_requests_under_way_are_not_disturbed(self):
        self.start(TWO_MODELS % "a")
        link = http.client.HTTPConnection(self.address, timeout=60)
        text = "".join("word%d " % i for i in range(20_000))
        link.request("POST", "/api/v1/chat", json.dumps(
            {"message": text, "conversation_id": "s", "stream": True}),
            {"Content-Type": "application/json"})
        answer = link.getresponse()
        begun = answer.read(1000)
        for number in range(5):
            self.assertEqual(self.reload(TWO_MODELS % f"m{number}")["outcome"], "done")
        whole = begun + answer.read()
        self.assertIn(b"event: done", whole)
        link.close()
        self.assertEqual(self.models(), {"echo", "m4", "b"})


if __name__ == "__main__":
    main()
