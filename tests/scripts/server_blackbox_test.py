"""The program as its users meet it: `pal serve` as a process, plain HTTP from outside.

usage: server_blackbox_test.py BINARY_DIR SOURCE_DIR
"""
import concurrent.futures
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BINARY_DIR = os.path.abspath(sys.argv[1])
PAL = os.path.join(BINARY_DIR, "pal")
ROOT = "/api/v1/conversations"


class Server:
    """One `pal serve` on a port of the kernel's choice, over a store of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [PAL, "serve", "--listen", "127.0.0.1:0", "--json",
             "--store", "sqlite:" + os.path.join(self.folder, "test.db")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder)
        line = self.process.stdout.readline()
        host, port = json.loads(line)["listen"].rsplit(":", 1)
        self.address = (host, int(port))

    def stop(self, sign=signal.SIGTERM):
        self.process.send_signal(sign)
        status = self.process.wait(30)
        self.process.stdout.close()
        return status

    def ask(self, method, path, body=None, headers=None, connection=None):
        link = connection or http.client.HTTPConnection(*self.address, timeout=60)
        fields = dict(headers or {})
        data = body
        if body is not None and not isinstance(body, (bytes, str)):
            data = json.dumps(body)
        if data is not None:
            fields.setdefault("Content-Type", "application/json")
        link.request(method, path, body=data, headers=fields)
        answer = link.getresponse()
        text = answer.read()
        if connection is None:
            link.close()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text, answer.headers


def user(text):
    return {"role": "user", "content": text}


class BlackBox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        if cls.server.process.poll() is None:
            cls.server.stop()
        cls.folder.cleanup()

    def test_probes_and_description(self):
        self.assertEqual(self.server.ask("GET", "/healthz")[:2], (200, {"status": "ok"}))
        status, ready, _ = self.server.ask("GET", "/readyz")
        self.assertEqual(status, 200)
        self.assertTrue(ready["store"]["survives_power_cut"])
        status, described, _ = self.server.ask("GET", "/openapi.json")
        self.assertEqual(described["openapi"], "3.1.0")
        self.assertIn("/api/v1/chat", described["paths"])

    def test_the_six_routes_of_a_first_day(self):
        status, made, headers = self.server.ask("POST", ROOT, {"id": "day", "owner": "ann"})
        self.assertEqual((status, headers["ETag"]), (201, '"0"'))
        status, written, _ = self.server.ask(
            "POST", ROOT + "/day/messages", {"messages": [user("one"), user("two")]})
        self.assertEqual((status, written["seq"], len(written["ids"])), (201, 2, 2))
        _, messages, _ = self.server.ask("GET", ROOT + "/day/messages?last=1")
        self.assertEqual(messages["data"][0]["message"], user("two"))
        _, view, _ = self.server.ask("GET", ROOT + "/day/view")
        self.assertEqual([item["kind"] for item in view["items"]], ["verbatim"] * 2)
        _, listed, _ = self.server.ask("GET", ROOT + "?owner=ann")
        self.assertEqual([row["id"] for row in listed["data"]], ["day"])

    def test_ids_of_any_kind(self):
        for name in ["a/b", "sp ace", "%", "ünï", "-wal", "x;DROP TABLE logs", "*:{}"]:
            path = ROOT + "/" + "".join(
                "%%%02X" % byte for byte in name.encode())
            status, _, _ = self.server.ask("POST", path + "/messages", {"messages": [user("x")]})
            self.assertEqual(status, 201, name)
            self.assertEqual(self.server.ask("GET", path)[1]["id"], name)

    def test_chat_streams_word_by_word(self):
        body = {"message": "alpha beta gamma", "conversation_id": "s", "stream": True}
        status, text, headers = self.server.ask("POST", "/api/v1/chat", body)
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/event-stream"))
        events = [dict(line.split(": ", 1) for line in block.split("\n"))
                  for block in text.decode().strip().split("\n\n")]
        self.assertEqual(events[0]["event"], "start")
        self.assertEqual(events[-1]["event"], "done")
        said = "".join(json.loads(e["data"])["text"] for e in events if e["event"] == "delta")
        self.assertEqual(json.loads(events[-1]["data"])["message"]["content"], said)
        self.assertTrue(said.startswith("alpha beta gamma"))

    def test_a_client_that_leaves_mid_stream(self):
        text = "".join("word%d " % i for i in range(200_000))
        body = json.dumps({"message": text, "conversation_id": "gone", "stream": True}).encode()
        with socket.create_connection(self.server.address) as link:
            link.sendall(b"POST /api/v1/chat HTTP/1.1\r\nHost: localhost\r\n"
                         b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
            link.sendall(body)
            link.recv(1000)
        for _ in range(1000):
            _, log, _ = self.server.ask("GET", ROOT + "/gone/messages")
            if len(log.get("data", [])) == 2:
                break
            time.sleep(0.01)
        answer = log["data"][1]
        self.assertTrue(answer["interrupted"])
        self.assertTrue(text.startswith(answer["message"]["content"]))

    def test_many_clients_append_without_gap_or_duplicate(self):
        def write(writer):
            link = http.client.HTTPConnection(*self.server.address, timeout=60)
            for i in range(10):
                name = "%d.%d" % (writer, i)
                status, _, _ = self.server.ask(
                    "POST", ROOT + "/many/messages", {"messages": [user(name)]},
                    {"Idempotency-Key": name}, link)
                assert status == 201, status
            link.close()
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            list(pool.map(write, range(32)))
        _, log, _ = self.server.ask("GET", ROOT + "/many/messages?limit=1000")
        self.assertEqual([row["seq"] for row in log["data"]], list(range(1, 321)))
        self.assertEqual(len({row["message"]["content"] for row in log["data"]}), 320)

    def test_other_hosts_and_sites_are_refused(self):
        for host in ["evil.example", "localhost.evil.example", "10.0.0.1"]:
            self.assertEqual(self.server.ask("GET", ROOT, headers={"Host": host})[0], 403)
        for method in ["POST", "PATCH", "DELETE"]:
            status, body, headers = self.server.ask(
                method, ROOT + "/none", {}, {"Origin": "https://evil.example"})
            self.assertEqual((status, body["error"]["code"]), (403, "forbidden"))
            self.assertNotIn("Access-Control-Allow-Origin", headers)
        self.assertEqual(self.server.ask("OPTIONS", "/api/v1/chat")[0], 405)

    def test_hostile_bodies(self):
        path = ROOT + "/hostile/messages"
        cases = [(b'{"messages":' + b"[" * 100_000, 400),
                 (b'{"messages":[{"role":"user","content":"\xff"}]}', 400),
                 (b'{"messages":[{"role":"user","content":"' + b"x" * (17 << 20) + b'"}]}', 413),
                 (b'\x00', 400), (b'{"messages":[]}', 400)]
        for body, expected in cases:
            status, answer, headers = self.server.ask("POST", path, body)
            self.assertEqual(status, expected, body[:60])
            self.assertEqual(headers["x-should-retry"], "false")
        self.assertEqual(self.server.ask("GET", ROOT + "/hostile")[0], 404)

    def test_a_hundred_megabytes_are_refused_before_they_are_read(self):
        with socket.create_connection(self.server.address) as link:
            link.settimeout(30)
            link.sendall(b"POST " + (ROOT + "/big/messages").encode() +
                         b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         b"Content-Length: 104857600\r\n\r\n")
            self.assertTrue(link.recv(100).startswith(b"HTTP/1.1 413 "))


class Restart(unittest.TestCase):
    def test_what_was_acknowledged_is_there_after_a_kill_and_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder)
            key = {"Idempotency-Key": "k"}
            first = server.ask("POST", ROOT + "/a/messages", {"messages": [user("x")]}, key)
            server.stop(signal.SIGKILL)
            server.start()
            again = server.ask("POST", ROOT + "/a/messages", {"messages": [user("x")]}, key)
            self.assertEqual(again[:2], first[:2])
            self.assertEqual(server.ask("GET", ROOT + "/a")[1]["messages"], 1)
            self.assertEqual(server.stop(), 0)

    def test_other_addresses_are_not_listened_on(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [PAL, "serve", "--listen", "0.0.0.0:0", "--store", "memory:"], cwd=folder,
                capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 3)
            self.assertIn(b"pal: forbidden:", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
