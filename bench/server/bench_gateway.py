#!/usr/bin/env python3
"""bench_gateway.py BUILD: what the gateway adds to a request and to an event of a stream.

One client, kept connections, one upstream; the arms take turns, request by request, so that the
machine treats them alike. `direct` is the upstream itself; nginx is measured where it is installed,
LiteLLM's proxy and Portkey's gateway, for plain requests, where their registries can be reached
(PEERS=0 leaves them out).
Stateful turns are on SQLite with full durability; the time of two fdatasync is measured beside them.
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from peer_gateways import start_litellm, start_portkey

BUILD = os.path.abspath(sys.argv[1])
PAL = os.path.join(BUILD, "pal")
ROUNDS, EVENTS = 400, 100
REPLY = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "word " * 50}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 50, "total_tokens": 59}}).encode()


def read_chunks(reader):
    body = b""
    while size := int(reader.readline().split(b";")[0], 16):
        body += reader.read(size)
        reader.readline()
    reader.readline()
    return body


def read_request(reader):
    """Headers and body, of an answer too."""
    length, chunked = 0, False
    while (line := reader.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        chunked |= line.lower().startswith(b"transfer-encoding: chunked")
    return read_chunks(reader) if chunked else reader.read(length)


def send_events(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                       b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(EVENTS):
        time.sleep(0.002)
        delta = {"choices": [{"index": 0, "delta": {"content": f"@{time.monotonic_ns()}@"}}]}
        event = f"data: {json.dumps(delta)}\n\n".encode()
        connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))


def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader = connection.makefile("rb")
    while body := read_request(reader):
        if b'"stream":true' in body.replace(b" ", b""):
            send_events(connection)
        else:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n%s" % (len(REPLY), REPLY))


def start_upstream():
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


class Client:
    def __init__(self, port, path="/v1/chat/completions", headers=""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.socket.makefile("rb")
        self.path, self.headers = path, headers

    def send(self, body):
        data = json.dumps(body).encode()
        self.socket.sendall(f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{self.headers}"
                            f"Content-Type: application/json\r\nContent-Length: {len(data)}"
                            f"\r\n\r\n".encode() + data)

    def ask(self, body):
        """Seconds until the whole answer is there."""
        start = time.perf_counter()
        self.send(body)
        assert b" 200 " in self.reader.readline()
        read_request(self.reader)
        return time.perf_counter() - start

    def delays(self, body):
        """Seconds from the upstream's write of an event to its arrival here."""
        self.send(body)
        assert b" 200 " in self.reader.readline()
        found = []
        while (line := self.reader.readline()) != b"0\r\n":
            if line.count(b"@") == 2:
                found.append((time.monotonic_ns() - int(line.split(b"@")[1])) / 1e9)
        self.reader.readline()
        return found


def start_pal(folder, upstream):
    with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
        file.write(f'[models.m]\nproxy = "none"\nurl = "http://127.0.0.1:{upstream}/v1"\n')
    process = subprocess.Popen([PAL, "serve", "--listen", "127.0.0.1:0", "--json", "--model", "m",
                                "--log-level", "quiet"], cwd=folder, stdout=subprocess.PIPE)
    return process, int(json.loads(process.stdout.readline())["listen"].rsplit(":", 1)[1])


def start_nginx(folder, upstream):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    paths = "".join(f"{name}_temp_path {folder}; "
                    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(os.path.join(folder, "nginx.conf"), "w") as file:
        file.write(f"""daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log /dev/null;
events {{}} http {{ access_log off; {paths} upstream up {{ server 127.0.0.1:{upstream}; keepalive 16; }}
server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://up; proxy_http_version 1.1;
proxy_set_header Connection ""; proxy_buffering off; }} }} }}""")
    process = subprocess.Popen(["nginx", "-p", folder, "-c", os.path.join(folder, "nginx.conf")])
    time.sleep(0.5)
    return process, port


def start_peers(folder, upstream):
    if os.environ.get("PEERS") == "0":
        return []
    peers = [start(BUILD, folder, upstream) for start in (start_litellm, start_portkey)]
    for peer in peers:
        if peer.reason:
            print(f"{peer.name}: skipped, {peer.reason}")
    return [peer for peer in peers if not peer.reason]


def tried(peer):
    """A client of it, once it has answered; None: it does not."""
    body = {"model": "m", "messages": [{"role": "user", "content": "warm up"}]}
    try:
        client = Client(peer.port, headers=peer.headers)
        for _ in range(20):
            client.ask(body)
        return client
    except (AssertionError, OSError) as error:
        print(f"{peer.name}: skipped, it does not answer ({error!r})")
        return None


def two_syncs(folder):
    times = []
    with open(os.path.join(folder, "sync"), "wb") as file:
        for _ in range(50):
            start = time.perf_counter()
            for _ in range(2):
                file.write(b"x" * 4096)
                file.flush()
                os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(arms, peers, folder):
    times, delays = {name: [] for name in {**arms, **peers}}, {name: [] for name in arms}
    for number in range(ROUNDS):
        body = {"model": "m", "messages": [{"role": "user", "content": f"question {number}"}]}
        for name, client in {**arms, **peers}.items():
            times[name].append(client.ask(body))
    for number in range(5):
        body = {"model": "m", "stream": True,
                "messages": [{"role": "user", "content": f"stream {number}"}]}
        for name, client in arms.items():
            delays[name] += client.delays(body)
    return times, delays, two_syncs(folder)


def main():
    upstream = start_upstream()
    processes = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        try:
            process, port = start_pal(folder, upstream)
            processes.append(process)
            arms = {"direct": Client(upstream), "pass-through": Client(port),
                    "stateful": Client(port, headers="X-Conversation-Id: bench\r\n")}
            if shutil.which("nginx"):
                process, nginx = start_nginx(os.path.abspath(folder), upstream)
                processes.append(process)
                arms["nginx"] = Client(nginx)
            peers = {}
            for peer in start_peers(os.path.abspath(folder), upstream):
                processes.append(peer.process)
                if client := tried(peer):
                    peers[peer.name] = client
            times, delays, syncs = measure(arms, peers, folder)
        finally:
            for process in processes:
                process.terminate()
                process.wait(30)
    direct, delay = statistics.median(times["direct"]), statistics.median(delays["direct"])
    for name in arms:
        mid, event = statistics.median(times[name]), statistics.median(delays[name])
        print(f"{name:13} request {mid * 1e6:7.0f} us, adds {(mid - direct) * 1e6:7.0f} us;  "
              f"event {event * 1e6:6.0f} us, adds {(event - delay) * 1e6:6.0f} us")
    print(f"two fdatasync here: {syncs * 1e6:.0f} us")
    ours = statistics.median(times["pass-through"]) - direct
    for name in peers:
        theirs = statistics.median(times[name]) - direct
        print(f"{name:13} adds {theirs * 1e6:7.0f} us, {theirs / ours:.1f} times what ours adds")


if __name__ == "__main__":
    main()
