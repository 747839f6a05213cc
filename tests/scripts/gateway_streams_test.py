"""2,000 streams open at the same time through the gateway: none loses an event, the program stays
below 200 MB and has few threads, and other requests are answered meanwhile. The upstream holds every
stream until all of them are open."""
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1], sys.argv[2]
PAL = os.path.abspath(os.path.join(BUILD, "pal"))
STREAMS, EVENTS = 2000, 6
MEGABYTES_MAX = 200
THREADS_MAX = 120  # 64 are usual for turns, while they use the store
SANITIZED = any(word in os.path.abspath(BUILD) for word in ("asan", "tsan", "sanitize"))


def chunk(text, reason=None):
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}
    return f"data: {json.dumps(data)}\n\n".encode()


class Upstream:
    """Sends one event, waits for the others, then sends the rest."""

    def __init__(self):
        self.open, self.all_open = 0, asyncio.Event()

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Connection: close\r\n\r\n" + chunk("0 "))
        await writer.drain()
        self.open += 1
        await self.all_open.wait()
        for number in range(1, EVENTS):
            writer.write(chunk(f"{number} "))
            await writer.drain()
        writer.write(chunk("", "stop") + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


async def ask(port, body, headers=""):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body).encode()
    writer.write(f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}"
                 f"Content-Type: application/json\r\nConnection: close\r\n"
                 f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
    await writer.drain()
    reply = await reader.read()
    writer.close()
    return reply.decode()


async def get(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    reply = await reader.read()
    writer.close()
    return reply.decode()


def text_of(reply):
    events = [line[6:] for line in reply.splitlines() if line.startswith("data: {")]
    return "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events)


def size_of(process):
    """Megabytes at most, and threads now."""
    with open(f"/proc/{process.pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) / 1024, int(fields["Threads"])


async def run_streams(process_of, stateful):
    upstream = Upstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, backlog=STREAMS)
    process, port = process_of(server.sockets[0].getsockname()[1])
    try:
        body = {"messages": [{"role": "user", "content": "go"}], "stream": True}
        streams = []
        for number in range(STREAMS):
            header = f"X-Conversation-Id: c{number}\r\n" if stateful else ""
            streams.append(asyncio.ensure_future(ask(port, body, header)))
            if number % 100 == 99:
                await asyncio.sleep(0.02)
        for _ in range(600):
            if upstream.open == STREAMS:
                break
            await asyncio.sleep(0.1)
        opened, meanwhile = upstream.open, await get(port, "/metrics")
        # The server counts a stream once the head of its answer has come.
        for _ in range(100):
            if f"memory_open_streams {STREAMS}" in meanwhile:
                break
            await asyncio.sleep(0.1)
            meanwhile = await get(port, "/metrics")
        upstream.all_open.set()
        replies = await asyncio.gather(*streams)
        return opened, meanwhile, [text_of(reply) for reply in replies], size_of(process)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
        server.close()


class Streams(unittest.TestCase):
    def check(self, stateful):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = 3 * STREAMS + 100
        if hard != resource.RLIM_INFINITY and hard < needed:
            print("skipped: too few file descriptors are allowed")
            self.skipTest("too few file descriptors are allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
        with tempfile.TemporaryDirectory() as folder:
            def start(port):
                with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
                    file.write('model = "m"\n[models.m]\nproxy = "none"\n'
                               f'url = "http://127.0.0.1:{port}/v1"\n')
                process = subprocess.Popen(
                    [PAL, "serve", "--listen", "127.0.0.1:0", "--json", "--log-level", "quiet"],
                    cwd=folder, stdout=subprocess.PIPE)
                listen = json.loads(process.stdout.readline())["listen"]
                return process, int(listen.rsplit(":", 1)[1])
            opened, meanwhile, texts, (size, threads) = asyncio.run(run_streams(start, stateful))
        print(f"{STREAMS} streams, stateful {stateful}: {size:.0f} MB at most, {threads} threads")
        self.assertEqual(opened, STREAMS)
        self.assertLessEqual(threads, THREADS_MAX)
        self.assertIn(f"memory_open_streams {STREAMS}", meanwhile)
        whole = "".join(f"{number} " for number in range(EVENTS))
        self.assertEqual([text for text in texts if text != whole], [])
        if not SANITIZED:
            self.assertLess(size, MEGABYTES_MAX)

    def test_two_thousand_streams_that_are_passed_on(self):
        self.check(False)

    def test_two_thousand_streams_of_conversations(self):
        self.check(True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
