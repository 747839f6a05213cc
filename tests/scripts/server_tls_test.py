"""`pal serve` with a certificate: HTTPS and nothing else, a new certificate on SIGHUP, and `pal`
beside it."""
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import time
import warnings

from pal_run import PalTest, main, start_server


def make_certificate(folder, name, hosts="DNS:localhost,IP:127.0.0.1"):
    """NAME.pem and NAME.key in the folder, self-signed."""
    base = os.path.join(folder, name)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={hosts}", "-keyout", base + ".key",
                    "-out", base + ".pem"], check=True, capture_output=True)
    return base + ".pem", base + ".key"


def use_certificate(folder, name):
    """What the settings name becomes the certificate NAME, as a renewal does it."""
    for kind in ("pem", "key"):
        os.replace(os.path.join(folder, f"{name}.{kind}"), os.path.join(folder, f"live.{kind}"))


class Secure(PalTest):
    def start(self, *words):
        make_certificate(self.folder, "first")
        self.trusted = self.path("trusted.pem")
        with open(self.path("first.pem")) as file:
            self.write("trusted.pem", file.read())
        use_certificate(self.folder, "first")
        process, address = start_server(self, "--tls-cert", "live.pem", "--tls-key", "live.key",
                                        *words)
        host, port = address.rsplit(":", 1)
        self.address = (host, int(port))
        return process

    def trust(self, name):
        with open(self.path(name)) as file, open(self.trusted, "a") as trusted:
            trusted.write(file.read())

    def connect(self):
        context = ssl.create_default_context(cafile=self.trusted)
        link = http.client.HTTPSConnection(*self.address, timeout=30, context=context)
        self.addCleanup(link.close)
        return link

    def ask(self, link, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        link.request(method, path, json.dumps(body) if body else None, headers)
        answer = link.getresponse()
        return answer.status, answer.read()

    def common_name(self, link):
        subject = dict(pair for part in link.sock.getpeercert()["subject"] for pair in part)
        return subject["commonName"]

    def test_plain_and_streamed_answers_over_one_connection(self):
        self.start()
        link = self.connect()
        status, body = self.ask(link, "POST", "/api/v1/chat",
                                {"message": "Hello", "conversation_id": "a"})
        self.assertEqual(status, 200, body)
        self.assertIn(link.sock.version(), ("TLSv1.2", "TLSv1.3"))
        text = "word " * 30_000
        status, body = self.ask(link, "POST", "/api/v1/chat",
                                {"message": text, "conversation_id": "b", "stream": True})
        self.assertEqual(status, 200)
        self.assertTrue(body.endswith(b"\n\n"))
        said = "".join(json.loads(line[6:])["text"] for block in body.decode().split("\n\n")
                       if block.startswith("event: delta")
                       for line in block.split("\n") if line.startswith("data: "))
        self.assertIn(text.strip(), said)
        status, body = self.ask(link, "GET", "/api/v1/conversations/b/messages")
        self.assertEqual(len(json.loads(body)["data"]), 2)
        status, body = self.ask(link, "GET", "/")
        self.assertIn(b"https://%s" % self.address[0].encode(), body)
        link.close()

    def test_other_clients(self):
        self.start()
        url = f"https://localhost:{self.address[1]}/healthz"
        done = subprocess.run(["curl", "-sS", "--noproxy", "*", "--cacert", self.trusted, url], capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, b'{"status":"ok"}'), done.stderr)
        done = subprocess.run(["curl", "-sS", "--noproxy", "*", url], capture_output=True)
        self.assertEqual(done.returncode, 60, "nobody vouches for it")
        old = ssl.create_default_context(cafile=self.trusted)
        old.set_ciphers("DEFAULT@SECLEVEL=0")
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(self.address) as raw:
            with self.assertRaises(ssl.SSLError):
                old.wrap_socket(raw, server_hostname="localhost")

    def test_a_plain_request_is_told_to_use_https(self):
        self.start()
        link = http.client.HTTPConnection(*self.address, timeout=30)
        link.request("POST", "/api/v1/chat", b"x" * 100_000, {"Content-Type": "application/json"})
        answer = link.getresponse()
        self.assertEqual(answer.status, 400)
        self.assertIn("https://", json.loads(answer.read())["error"]["message"])
        link.close()
        self.assertEqual(self.ask(self.connect(), "GET", "/healthz")[0], 200)

    def test_who_does_not_finish_the_handshake_is_closed(self):
        process = self.start("--header-timeout-ms", "300")
        silent = socket.create_connection(self.address)
        half = socket.create_connection(self.address)
        half.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        nonsense = socket.create_connection(self.address)
        nonsense.sendall(b"\x16" + os.urandom(300))
        for link in (silent, half, nonsense):
            link.settimeout(30)
            try:
                while link.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            link.close()
        self.assertEqual(self.ask(self.connect(), "GET", "/healthz")[0], 200)
        held = socket.create_connection(self.address)
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        self.assertEqual(process.wait(30), 0)
        self.assertLess(time.monotonic() - begun, 4, "it does not wait for a handshake")
        held.close()

    def test_a_new_certificate_is_taken_on_sighup(self):
        process = self.start()
        old = self.connect()
        self.assertEqual(self.ask(old, "GET", "/healthz")[0], 200)
        make_certificate(self.folder, "second")
        self.trust("second.pem")
        use_certificate(self.folder, "second")
        process.send_signal(signal.SIGHUP)
        line = json.loads(process.stderr.readline())
        self.assertEqual((line["event"], line["outcome"]), ("reload", "done"))
        self.assertEqual(line["changed"], ["certificate"])
        self.assertEqual(self.ask(old, "GET", "/healthz")[0], 200)
        self.assertEqual(self.common_name(old), "first")
        new = self.connect()
        self.assertEqual(self.ask(new, "GET", "/healthz")[0], 200)
        self.assertEqual(self.common_name(new), "second")

        for name, text in (("live.pem", "nonsense"), ("live.key", "nonsense")):
            with open(self.path(name)) as file:
                good = file.read()
            self.write(name, text)
            process.send_signal(signal.SIGHUP)
            line = json.loads(process.stderr.readline())
            self.assertEqual((line["event"], line["outcome"]), ("reload", "refused"))
            self.assertIn(name, line["message"])
            again = self.connect()
            self.assertEqual(self.ask(again, "GET", "/healthz")[0], 200)
            self.assertEqual(self.common_name(again), "second")
            self.write(name, good)

    def test_commands_beside_it_go_through_it(self):
        self.start()
        self.say("a", "one")
        status, body = self.ask(self.connect(), "GET", "/api/v1/conversations/a")
        self.assertEqual((status, json.loads(body)["messages"]), (200, 1))
        with open(self.path("palimpsest.db.lock")) as file:
            door = json.load(file)["address"]
        link = http.client.HTTPConnection(door, timeout=30)
        for path in ("/healthz", "/api/v1/conversations/a", "/internal"):
            self.assertEqual(self.ask(link, "GET", path)[0], 404, "only the store is there")
        link.close()

    def test_what_cannot_be_used_is_named(self):
        certificate, key = make_certificate(self.folder, "good")
        other = make_certificate(self.folder, "other")[1]
        self.write("locked.key", subprocess.run(
            ["openssl", "ec", "-aes128", "-passout", "pass:x", "-in", key], check=True,
            capture_output=True).stdout)
        for words, blamed in (
                (["--tls-cert", certificate], "tls_key"),
                (["--tls-key", key], "tls_cert"),
                (["--tls-cert", "absent.pem", "--tls-key", key], "absent.pem"),
                (["--tls-cert", certificate, "--tls-key", "absent.key"], "absent.key"),
                (["--tls-cert", key, "--tls-key", key], "good.key"),
                (["--tls-cert", certificate, "--tls-key", certificate], "good.pem"),
                (["--tls-cert", certificate, "--tls-key", other], "other.key"),
                (["--tls-cert", certificate, "--tls-key", "locked.key"], "locked.key")):
            for check in ([], ["--check"]):
                message = self.fails(2, "invalid_request", "serve", "--listen", "127.0.0.1:0",
                                     *words, *check)
                self.assertIn(blamed, message)
        self.assertFalse(os.path.exists(self.path("palimpsest.db")), "no store was made")
        self.ok("serve", "--check", "--tls-cert", certificate, "--tls-key", key)


if __name__ == "__main__":
    main()
