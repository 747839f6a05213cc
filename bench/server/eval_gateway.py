"""Recorded requests through the gateway, to an upstream that answers as recorded: does the client
get what the recording has?

Stateless: the upstream must get the request as it was, and the client the answer as it was, bytes of
streams included. Stateful (the same request as the first turn of a conversation): the client must get
the same answer. Responses are compared by what was said, because ids are ours there; a field
that is refused by its name is no part of our surface.

usage: PAL_DATA=FOLDER eval_gateway.py BUILD
"""
import gzip
import http.client
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

PAL = os.path.abspath(os.path.join(sys.argv[1], "pal"))
FORMATS = {"/v1/chat/completions": "openai_chat", "/v1/responses": "openai_responses",
           "/v1/messages": "anthropic", "/v1/messages/count_tokens": "anthropic"}


def recorded():
    path = os.path.join(os.environ["PAL_DATA"], "api_exchanges_dev.jsonl.gz")
    for line in gzip.open(path, "rt"):
        one = json.loads(line)
        one["path"] = one["url"].split(".com", 1)[1].split("?")[0]
        if one["method"] == "POST" and one["path"] in FORMATS:
            yield one


class Recording(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.sent = json.loads(body)
        one = self.server.one
        stream = "response_sse" in one
        data = (one["response_sse"] if stream else json.dumps(one["response"])).encode()
        self.send_response(one["status"])
        self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Gateway:
    """The real program in front of the recording, for one format."""

    def __init__(self, upstream, format):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(self.folder.name, "palimpsest.toml"), "w") as file:
            file.write(f'model = "any"\nunknown_model = "default"\n[models.any]\nmodel = "upstream"\n'
                       f'format = "{format}"\nretries = 0\nproxy = "none"\nwindow = 400000\n'
                       f'url = "http://127.0.0.1:{upstream.server_address[1]}/v1"\n')
        self.process = subprocess.Popen(
            [PAL, "serve", "--listen", "127.0.0.1:0", "--json", "--log-level", "quiet",
             "--store", "memory:"], cwd=self.folder.name, stdout=subprocess.PIPE)
        self.address = json.loads(self.process.stdout.readline())["listen"]

    def ask(self, path, request, headers=None):
        host, port = self.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request("POST", path, json.dumps(request),
                           {"Content-Type": "application/json", **(headers or {})})
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply.status, body

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()
        self.folder.cleanup()


def events_of(text):
    found = []
    for line in text.splitlines():
        if line.startswith("data:"):
            data = line[5:].strip()
            found.append(data if data == "[DONE]" else json.loads(data))
    return found


def without_model(request):
    return {key: value for key, value in request.items() if key != "model"}


def said(items):
    """What the items of a response say, without their ids and states."""
    out = []
    for item in items:
        if item.get("type") == "message":
            out.append([part.get("text", part.get("refusal")) for part in item["content"]])
        elif item.get("type") in ("function_call", "custom_tool_call"):
            out.append([item["call_id"], item["name"], item.get("arguments", item.get("input"))])
    return out


def final_response(text):
    ends = [event["response"] for event in events_of(text)
            if event != "[DONE]" and event.get("type", "").startswith("response.")
            and event["type"].split(".")[1] in ("completed", "incomplete", "failed")]
    return ends[-1] if ends else {"output": []}


def refused_by_name(status, body):
    """A field of the service that is not part of our surface, and says so."""
    return status == 400 and "is an unknown field" in body


def check_responses(one, status, body):
    if refused_by_name(status, body):
        return None
    if status != one["status"]:
        return f"status {status}, not {one['status']}: {body[:200]}"
    if status >= 400:
        return None
    stream = "response_sse" in one
    ours = final_response(body) if stream else json.loads(body)
    theirs = final_response(one["response_sse"]) if stream else one["response"]
    if said(ours["output"]) != said(theirs["output"]):
        return f"says {said(ours['output'])}, not {said(theirs['output'])}"[:300]
    return None


def check_same(one, status, body, usage_asked=True):
    if status != one["status"]:
        return f"status {status}, not {one['status']}: {body[:200]}"
    if "response_sse" in one:
        theirs = events_of(one["response_sse"])
        if not usage_asked:
            theirs = [e for e in theirs if e == "[DONE]" or e.get("choices", True) or not e.get("usage")]
        return None if events_of(body) == theirs else "the events differ"
    return None if json.loads(body) == one["response"] else f"the reply differs: {body[:200]}"


def stateless(gateway, upstream, one):
    status, body = gateway.ask(one["path"], one["request"])
    if one["path"] == "/v1/responses":
        return check_responses(one, status, body)
    if without_model(upstream.sent) != without_model(one["request"]):
        if not one["request"].get("context_management"):
            return "the upstream got another request"
        return None if status == one["status"] else f"status {status}"  # Edited here, as it should be.
    return check_same(one, status, body)


def stateful(gateway, _, one):
    asked = (one["request"].get("stream_options") or {}).get("include_usage", False)
    status, body = gateway.ask(one["path"], one["request"],
                               {"X-Conversation-Id": f"{one['cassette']} {one['seq']}"[-200:]})
    if one["request"].get("context_management"):
        return None if status == one["status"] else f"status {status}: {body[:200]}"
    return check_same(one, status, body, asked or one["path"] == "/v1/messages")


def fits_turn(one):
    return one["status"] == 200 and one["path"] in ("/v1/chat/completions", "/v1/messages")


def fits_pass(one):
    # What names an earlier response names one that only the recording has.
    return not any(one["request"].get(name) for name in ("previous_response_id", "conversation",
                                                         "background"))


def main():
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recording)
    upstream.daemon_threads = True
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    gateways = {format: Gateway(upstream, format) for format in set(FORMATS.values())}
    failed = 0
    counts = {}
    try:
        for one in recorded():
            upstream.one, upstream.sent = one, {}
            gateway = gateways[FORMATS[one["path"]]]
            for way, check, fits in (("stateless", stateless, fits_pass),
                                     ("stateful", stateful, fits_turn)):
                if not fits(one):
                    continue
                fault = check(gateway, upstream, one)
                total, good = counts.get((one["path"], way), (0, 0))
                counts[one["path"], way] = (total + 1, good + (fault is None))
                if fault:
                    failed += 1
                    print(f"{way} {one['path']} {one['cassette']} {one['seq']}: {fault}")
    finally:
        for gateway in gateways.values():
            gateway.close()
        upstream.shutdown()
    for (path, way), (total, good) in sorted(counts.items()):
        print(f"{way:9} {path:27} {good} of {total} as recorded")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
