"""One `pal serve` against everything that is thrown at it: 10,000 requests made from its own
/openapi.json, bodies nested too deep on every route, clients that send or read too slowly. It must
answer what it declares, give away nothing of another tenant, stay small, and live."""
import copy
import http.client
import json
import os
import queue
import random
import socket
import threading
import time

from pal_run import PalTest, main, start_server

REQUESTS, THREADS, SEED = 10_000, 4, 8
MEGABYTES_MAX = 256  # that it may grow by
TIMEOUT_MS = 3000
CANARY = "canary-7f3a9c-of-the-other-tenant"
SECRET = "canary-secret-of-the-provider"
WORDS = ["", "a", "none", "../../etc/passwd", "%2e%2e", "x" * 300, "ünï", "\u0000", "\r\nX: y",
         "'; DROP TABLE logs;--", "{}", "*", "😀" * 50, "NaN", "-1", "18446744073709551616", "1e999",
         "null", "true", "\ud800", "conv_0", "resp_" + "0" * 40, "msg_1", "last", "2020-01-01"]
VALUES = [None, True, False, 0, -1, 1, 1.5, 2 ** 53, 2 ** 64, 1e308, "", "x", "user", [], {}, [[]],
          [None], {"a": {"b": [1, {"c": None}]}}, ["x"] * 50, {"role": "user", "content": "x"},
          [{"role": "user", "content": "x"}], [{"type": "text", "text": "x"}], "x" * 5000]


def megabytes(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    raise AssertionError("the server is gone")


def escaped(text):
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


class Maker:
    """Requests for the operations of a description: right ones, and ones with a fault in them."""

    def __init__(self, described, ids):
        self.random = random.Random(SEED)
        self.schemas = described["components"]["schemas"]
        self.ids = ids
        self.operations = [(path, method, operation) for path, methods in described["paths"].items()
                           for method, operation in methods.items()
                           if not path.startswith("/internal/")]

    def one(self, number):
        path, method, operation = self.operations[number % len(self.operations)]
        if self.random.random() < 0.03:
            method = self.random.choice(["get", "post", "put", "patch", "delete", "head", "options"])
        query, headers = [], {}
        for row in operation.get("parameters", []):
            if row["in"] == "path":
                path = path.replace("{%s}" % row["name"], escaped(self.some_id()))
            elif self.random.random() < (0.3 if row["in"] == "query" else 0.1):
                self.add(row, query, headers)
        if query:
            path += "?" + "&".join(query)
        body = self.body(operation) if "requestBody" in operation else None
        if body is not None:
            headers["Content-Type"] = self.random.choice(["application/json"] * 20 + ["text/plain"])
        return method.upper(), path, body, headers

    def add(self, row, query, headers):
        good = self.random.random() < 0.6
        value = self.from_schema(row["schema"], 3) if good else self.random.choice(WORDS)
        text = value if isinstance(value, str) else json.dumps(value)
        if row["in"] == "query":
            query.append(escaped(row["name"].replace("*", "k")) + "=" + escaped(text))
        elif row["name"] == "If-Match":
            headers["If-Match"] = self.random.choice(["0", "1", '"2"', "x", "-1"])
        else:
            headers[row["name"]] = f"key-{self.random.randrange(50)}"

    def some_id(self):
        return self.random.choice(self.ids if self.random.random() < 0.8 else WORDS[1:])

    def body(self, operation):
        content = operation["requestBody"]["content"].get("application/json", {})
        example = json.loads(json.dumps(content.get("example", {})))
        kind = self.random.randrange(10)
        if kind == 0:
            return self.random.choice([b"", b"{", b"[]", b"null", b'{"a":1,"a":2}', b"\xff", b"\x00",
                                       b'{"a":1e999}', b'{"\\ud800":1}', b"{} {}"])
        if kind <= 2:
            example = self.from_schema(content.get("schema", {}), 5)
        for _ in range(0 if kind == 3 else self.random.randrange(1, 4)):
            self.spoil(example)
        return json.dumps(example).encode("utf-8", "surrogatepass")

    def spoil(self, value):
        """Changes one place of it, at any depth."""
        while True:
            keys = list(value) if isinstance(value, dict) else list(range(len(value))) \
                if isinstance(value, list) else []
            if isinstance(value, dict) and (not keys or self.random.random() < 0.1):
                value[self.random.choice(["extra", "stream", "id", "tenant", "metadata", "model",
                                          "messages", "previous_response_id", "conversation"])] = \
                    copy.deepcopy(self.random.choice(VALUES + self.ids))
                return
            if not keys:
                return
            key = self.random.choice(keys)
            if isinstance(value[key], (dict, list)) and self.random.random() < 0.6:
                value = value[key]
                continue
            if isinstance(value, dict) and self.random.random() < 0.3:
                del value[key]
            else:
                value[key] = copy.deepcopy(self.random.choice(VALUES + WORDS + self.ids))
            return

    def from_schema(self, schema, depth):
        if "$ref" in schema:
            return self.from_schema(self.schemas[schema["$ref"].rsplit("/", 1)[1]], depth)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.from_schema(self.random.choice(schema[word]), depth)
        kind = schema.get("type", self.random.choice(["string", "integer", "object"]))
        kind = self.random.choice(kind) if isinstance(kind, list) else kind
        if kind == "object":
            fields = schema.get("properties", {})
            return {name: self.from_schema(inner, depth - 1) for name, inner in fields.items()
                    if depth > 0 and (name in schema.get("required", [])
                                      or self.random.random() < 0.3)}
        if kind == "array":
            count = self.random.randrange(3) if depth > 0 else 0
            return [self.from_schema(schema.get("items", {}), depth - 1) for _ in range(count)]
        if kind == "integer":
            return self.random.choice([schema.get("minimum", 0), schema.get("maximum", 9), 1, 7])
        return {"number": 0.5, "boolean": self.random.random() < 0.5, "null": None}.get(
            kind, self.random.choice(["text", "a", self.random.choice(self.ids)]))


class Hostile(PalTest):
    def setUp(self):
        super().setUp()
        self.write("palimpsest.toml", '[models.m]\nurl = "http://127.0.0.1:9/v1"\nretries = 0\n'
                                      'key_env = "HOSTILE_KEY"\n')
        self.key = self.ok("keys", "create", "--tenant", "a", "--scopes",
                           "read,write,admin").out.strip()
        self.ok("keys", "create", "--tenant", "b")
        for name in ("shared", "theirs"):
            self.ok("append", name, "--tenant", "b",
                    stdin=json.dumps({"role": "user", "content": CANARY}))
        os.environ["HOSTILE_KEY"] = SECRET
        self.process, self.address = start_server(
            self, "--header-timeout-ms", str(TIMEOUT_MS), "--body-timeout-ms", str(TIMEOUT_MS),
            "--write-timeout-ms", str(TIMEOUT_MS))
        self.auth = {"Authorization": "Bearer " + self.key}

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=60)

    def ask(self, method, path, body=None, headers=None, link=None):
        own = link or self.connect()
        own.request(method, path, body, {**self.auth, **(headers or {})})
        answer = own.getresponse()
        text = answer.read()
        if not link:
            own.close()
        return answer.status, text, answer.headers

    def socket(self, receive_buffer=0):
        link = socket.socket()
        if receive_buffer:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        host, port = self.address.rsplit(":", 1)
        link.connect((host, int(port)))
        link.settimeout(60)
        return link

    maxDiff = None

    def test_all_of_it(self):
        json_type = {"Content-Type": "application/json"}
        for name in ("shared", "mine"):
            self.ask("POST", f"/api/v1/conversations/{name}/messages",
                     '{"messages":[{"role":"user","content":"hello"}]}', json_type)
        self.described = json.loads(self.ask("GET", "/openapi.json")[1])
        self.ask("GET", "/api/v1/conversations")
        before = megabytes(self.process.pid)
        self.send_generated()
        self.send_depth_bombs()
        self.be_slow()
        self.assertEqual(self.ask("GET", "/healthz")[0], 200)
        self.assertLess(megabytes(self.process.pid) - before, MEGABYTES_MAX)
        metrics = self.ask("GET", "/metrics")[1].decode()
        self.assertLess(metrics.count("\n"), 20_000, "labels are bounded")
        self.assertNotIn(CANARY, metrics)

    # ---- requests made from the description ------------------------------------------------------

    def send_generated(self):
        maker = Maker(self.described, ["shared", "mine", "theirs", "absent", "a b", "a/b"])
        jobs, faults, seen = queue.Queue(200), [], {}

        def work():
            link = self.connect()
            while (job := jobs.get()) is not None:
                self.send_one(job, link, faults, seen)
            link.close()
        threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for number in range(REQUESTS):
            jobs.put(maker.one(number))
        for _ in threads:
            jobs.put(None)
        for thread in threads:
            thread.join()
        self.assertEqual(faults[:5], [])
        self.assertEqual(sum(seen.values()), REQUESTS)
        for status in (200, 201, 400, 404, 405):
            self.assertGreater(seen.get(status, 0), 20, f"the requests are not varied: {seen}")
        print("answers by status:", dict(sorted(seen.items())))

    def send_one(self, job, link, faults, seen):
        method, path, body, headers = job
        shown = f"{method} {path[:300]} {(body or b'')[:500]}"
        try:
            status, text, fields = self.ask(method, path, body, headers, link)
        except Exception as error:  # whatever it is, the server should have answered
            faults.append(f"{shown}: {error!r}")
            link.close()
            return
        seen[status] = seen.get(status, 0) + 1
        # The model m is not there: that it cannot be reached is the one fault of the upstream.
        absent = b"127.0.0.1:9" in text or path.startswith("/readyz?")
        if status >= 500 and not (status in (502, 503, 504) and absent):
            faults.append(f"{shown}: {status} {text[:300]}")
        if status >= 400 and method != "HEAD" and b'"error"' not in text:
            faults.append(f"{shown}: {status} without an error: {text[:300]}")
        if CANARY.encode() in text or SECRET.encode() in text:
            faults.append(f"{shown}: gives away what is not the caller's")
        if not fields.get("x-request-id", "").startswith("req_"):
            faults.append(f"{shown}: no request id")

    # ---- bodies that are nested too deep ---------------------------------------------------------

    def send_depth_bombs(self):
        deep = [b"[" * 1_000_000, b'{"a":' * 200_000, b'{"messages":' + b"[" * 100_000,
                b'{"messages":' + b"[" * 500 + b"]" * 500 + b"}",
                b'{"metadata":' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}"]
        link = self.connect()
        for path, methods in self.described["paths"].items():
            for method, operation in methods.items():
                if "requestBody" not in operation or path.startswith("/internal/"):
                    continue
                for body in deep:
                    target = path.replace("{", "").replace("}", "")
                    status, text, headers = self.ask(method.upper(), target, body,
                                                     {"Content-Type": "application/json"}, link)
                    self.assertEqual(status, 400, f"{method} {path} {body[:30]} {text[:200]}")
                    self.assertEqual(headers["x-should-retry"], "false")
        link.close()

    # ---- slow clients ----------------------------------------------------------------------------

    def be_slow(self):
        lines = ["POST /api/v1/chat HTTP/1.1", "Host: localhost", "Authorization: Bearer " + self.key,
                 "Content-Type: application/json"]
        head = "\r\n".join(lines).encode()
        drips = [self.socket() for _ in range(100)]
        for number, link in enumerate(drips):
            link.sendall(head + (b"\r\nX: " if number % 2 else b"\r\nContent-Length: 9000\r\n\r\n{"))
        stalled = [self.stall(number) for number in range(20)]
        before = megabytes(self.process.pid)
        left, end = list(drips), time.monotonic() + 60
        while left:
            self.assertLess(time.monotonic(), end, f"{len(left)} slow clients are still served")
            left = [link for link in left if self.drip(link)]
            self.assertEqual(self.ask("GET", "/healthz")[0], 200, "others are served")
            time.sleep(0.1)
        self.wait_for_streams(0)
        self.assertLess(megabytes(self.process.pid) - before, MEGABYTES_MAX)
        for link in stalled:
            link.close()
        _, text, _ = self.ask("GET", "/api/v1/conversations/slow0/messages")
        kept = json.loads(text)["data"][-1]
        self.assertEqual((kept["message"]["role"], kept["interrupted"]), ("assistant", True))

    def stall(self, number):
        """A stream of some megabytes to a client that reads nothing."""
        body = json.dumps({"message": "word " * 150_000, "conversation_id": f"slow{number}",
                           "stream": True}).encode()
        link = self.socket(receive_buffer=4096)
        link.sendall(b"POST /api/v1/chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                     + self.key.encode() + b"\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return link

    def drip(self, link):
        """One more byte; False when the server has closed, which it does with 408."""
        try:
            link.sendall(b"x")
            link.setblocking(False)
            answer = link.recv(4096)
        except BlockingIOError:
            return True
        except (ConnectionResetError, BrokenPipeError):
            answer = b"HTTP/1.1 408"
        finally:
            link.setblocking(True)
        self.assertTrue(answer.startswith(b"HTTP/1.1 408"), answer)
        link.close()
        return False

    def wait_for_streams(self, count):
        end = time.monotonic() + 60
        while f"\nmemory_open_streams {count}\n" not in self.ask("GET", "/metrics")[1].decode():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)


if __name__ == "__main__":
    main()
