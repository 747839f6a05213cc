"""`pal serve`, and `pal` beside it: a store that a server holds is used through that server."""
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import time

from pal_run import PROGRAM, PalTest, clean_environment, main, start_server

HELLO = '{"role":"user","content":"Hello"}'


def get(address, target):
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("GET", target)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body)


def post(address, target, body, headers=None):
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("POST", target, body, headers or {"Content-Type": "application/json"})
    response = connection.getresponse()
    raw = response.read()
    connection.close()
    return response.status, raw


class Serve(PalTest):
    def test_answers_and_stops_on_either_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process, address = start_server(self)
            self.assertEqual(get(address, "/healthz")[0], 200)
            process.send_signal(number)
            self.assertEqual(process.wait(30), 0)
            self.assertEqual(process.stderr.read(), b"")
        self.assertFalse(os.path.exists(self.path("palimpsest.db.lock")))

    def test_says_how_to_reach_it(self):
        process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=clean_environment())
        line = process.stdout.readline().decode()
        self.assertRegex(line, r"\Apalimpsest listens on http://127\.0\.0\.1:\d+ ")
        address = line.split("http://")[1].split()[0]
        self.assertEqual(get(address, "/healthz")[0], 200)
        process.terminate()
        _, log = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(json.loads(log.decode().splitlines()[0])["path"], "/healthz")

    def test_is_refused_on_a_used_port(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            message = self.fails(10, "unavailable", "serve", "--listen", f"127.0.0.1:{port}")
            self.assertIn(str(port), message)
        self.assertEqual(os.listdir(self.folder), [], "no store was made")

    def test_a_second_one_on_the_same_store_names_the_holder(self):
        process, address = start_server(self)
        message = self.fails(10, "unavailable", "serve", "--listen", "127.0.0.1:0")
        self.assertIn(str(process.pid), message)
        self.assertIn(address, message)
        self.assertEqual(get(address, "/healthz")[0], 200)

    def test_starts_again_after_a_kill(self):
        process, address = start_server(self)
        self.say("a", "one")
        process.kill()
        process.wait(30)
        _, again = start_server(self)
        self.assertEqual(get(again, "/api/v1/conversations/a")[1]["messages"], 1)


class Beside(PalTest):
    def test_every_command_goes_through_the_server(self):
        self.say("before", "one")
        _, address = start_server(self)
        self.assertEqual(self.ok("append", "a", stdin=f"[{HELLO},{HELLO}]").out, "2\n")
        self.assertEqual(get(address, "/api/v1/conversations/a")[1]["messages"], 2)
        self.assertEqual(self.ok("fork", "a", "b", "--at", "1").out, "1\n")
        self.assertRegex(self.ok("checkpoint", "a", "here").out, r"\Ackpt_")
        self.assertEqual(len(self.ok("checkpoints", "a", "--json").lines()), 1)
        self.assertEqual(self.ok("pin", "a", "1").out, "4\n")
        self.assertEqual(self.ok("unpin", "a", "1").out, "5\n")
        self.assertEqual(self.ok("retract", "a", "1").out, "6\n")
        self.assertEqual(self.ok("undo", "a").out, "7\n")
        policy = '{"passes":[{"pass":"keep_last","messages":1}]}'
        self.assertEqual(self.ok("compact", "a", "--policy", policy, "--json").json()["outcome"],
                         "done")
        self.assertEqual([i["from"] for i in self.ok("view", "a", "--json").json()["items"]], [2])
        self.assertEqual(self.ok("scrub", "a", "2").out, "scrubbed 1\n")
        self.assertIn("nothing is wrong", self.ok("doctor").out)
        self.assertEqual(self.pal("chat", "c", stdin="Hi\n").status, 0)
        names = {header["id"] for header in self.ok("list", "--json").lines()}
        self.assertEqual(names, {"before", "a", "b", "c"})
        self.ok("erase", "a")
        self.fails(4, "not_found", "show", "a")
        self.fails(5, "conflict", "append", "b", "--expect", "9", stdin=HELLO)
        self.assertEqual(get(address, "/api/v1/conversations/b")[1]["messages"], 1)

    def test_what_the_server_wrote_is_seen_and_the_other_way_round(self):
        _, address = start_server(self)
        status, body = post(address, "/api/v1/chat", '{"message":"Hello","conversation_id":"a"}')
        self.assertEqual(status, 200, body)
        roles = [e["role"] for e in self.ok("log", "a", "--kind", "message", "--json").lines()]
        self.assertEqual(roles, ["user", "assistant"])
        self.say("a", "from the side")
        view = get(address, "/api/v1/conversations/a/view")[1]
        self.assertEqual(view["items"][-1]["message"]["content"], "from the side")

    def test_other_names_of_the_same_file_lead_to_the_same_server(self):
        start_server(self)
        self.say("a", "one")
        os.symlink("palimpsest.db", self.path("link.db"))
        for url in (f"sqlite:{self.path('palimpsest.db')}", "sqlite:./palimpsest.db",
                    "sqlite:link.db"):
            self.assertEqual(self.ok("show", "a", "--json", "--store", url).json()["messages"], 1)

    def test_a_large_log_comes_through(self):
        start_server(self)
        text = "\n".join(json.dumps({"role": "user", "content": "x" * 4000}) for _ in range(3000))
        self.assertEqual(self.ok("append", "a", stdin=text).out, "3000\n")
        self.assertEqual(len(self.ok("log", "a", "--json").lines()), 3000)

    def test_a_holder_that_does_not_answer_is_named(self):
        process, address = start_server(self)
        self.say("a", "one")
        with open(self.path("palimpsest.db.lock")) as file:
            lock = file.read()
        # The lock stays with the living server, but names a port where nobody listens.
        with socket.create_server(("127.0.0.1", 0)) as other:
            dead = f"127.0.0.1:{other.getsockname()[1]}"
        with open(self.path("palimpsest.db.lock"), "w") as file:
            file.write(lock.replace(address, dead))
        message = self.fails(10, "unavailable", "show", "a")
        self.assertIn(dead, message)
        self.assertIn(str(process.pid), message)

    def test_a_holder_that_is_stuck_is_named(self):
        process, address = start_server(self)
        self.say("a", "one")
        process.send_signal(signal.SIGSTOP)
        try:
            for words in (["list"], ["append", "a"], ["doctor"]):
                # Far more than it takes; the answer of a living server is waited for much longer.
                message = self.fails(10, "unavailable", *words, stdin=HELLO, timeout=30)
                self.assertIn(f"pal serve (pid {process.pid}) at {address}", message)
        finally:
            process.send_signal(signal.SIGCONT)

    def test_commands_wait_for_a_server_that_is_just_starting(self):
        process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--log-level",
                                    "quiet"], cwd=self.folder, stdout=subprocess.PIPE,
                                   env=clean_environment())
        while not os.path.exists(self.path("palimpsest.db.lock")):
            time.sleep(0.001)
        self.assertEqual(self.ok("append", "a", stdin=HELLO).out, "1\n")
        process.terminate()
        process.communicate(timeout=30)


class InternalRoute(PalTest):
    def test_needs_the_token(self):
        _, address = start_server(self)
        self.say("a", "one")
        octets = {"Content-Type": "application/octet-stream"}
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer guess"},
                        {"Authorization": "Bearer " + "0" * 32}):
            status, body = post(address, "/internal/store/durability", b"\x02",
                                {**octets, **headers})
            self.assertEqual(status, 401, headers)
            self.assertEqual(json.loads(body)["error"]["code"], "unauthorized")

    def test_with_the_token_it_refuses_what_it_cannot_read(self):
        _, address = start_server(self)
        path = self.path("palimpsest.db.lock")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, "only for the owner")
        with open(path) as file:
            headers = {"Authorization": "Bearer " + json.load(file)["token"],
                       "Content-Type": "application/octet-stream"}
        self.assertEqual(post(address, "/internal/store/nothing", b"", headers)[0], 404)
        for body in (b"", b"\x00", b"\xff" * 100, b"\x02\x05abc"):
            status, reply = post(address, "/internal/store/append", body, headers)
            self.assertEqual((status, reply[:2]), (200, b"\x02\x01"), body)
        self.assertEqual(get(address, "/healthz")[0], 200)


if __name__ == "__main__":
    main()
