"""Serves what format_streams printed from the loopback and lets the official Python clients read it.
Usage: python3 format_clients.py < streams.json, with the clients in PYTHONPATH.
Prints what format_clients.mjs prints."""
import http.server
import json
import sys
import threading

import anthropic
import openai

WRITTEN = json.load(sys.stdin)
FORMATS = {"/openai/chat/completions": "openai_chat", "/openai/responses": "openai_responses",
           "/anthropic/v1/messages": "anthropic"}
MESSAGES = [{"role": "user", "content": "hi"}]


class Server(http.server.BaseHTTPRequestHandler):
    """The model's name says which scene is wanted."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        scene = WRITTEN[FORMATS[self.path.split("?")[0]]][body["model"]]
        answer = scene["stream" if body.get("stream") else "reply"].encode()
        self.send_response(200)
        self.send_header("content-type",
                         "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def seen_chat(done):
    message = done.choices[0].message
    return {"text": message.content,
            "calls": [[call.id, call.function.name, json.loads(call.function.arguments)]
                      for call in message.tool_calls or []],
            "usage": [done.usage.prompt_tokens, done.usage.completion_tokens],
            "end": done.choices[0].finish_reason}


def seen_response(done):
    return {"text": done.output_text,
            "calls": [[item.call_id, item.name, json.loads(item.arguments)]
                      for item in done.output if item.type == "function_call"],
            "usage": [done.usage.input_tokens, done.usage.output_tokens],
            "end": done.status}


def seen_message(done):
    return {"text": "".join(block.text for block in done.content if block.type == "text"),
            "calls": [[block.id, block.name, block.input]
                      for block in done.content if block.type == "tool_use"],
            "usage": [done.usage.input_tokens + done.usage.cache_read_input_tokens,
                      done.usage.output_tokens],
            "end": done.stop_reason}


def streamed(manager, final):
    with manager as stream:
        for _ in stream:
            pass
        return final(stream)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    chat = openai.OpenAI(api_key="k", base_url=base + "/openai", max_retries=0)
    blocks = anthropic.Anthropic(api_key="k", base_url=base + "/anthropic", max_retries=0)
    seen = {"openai_chat": {}, "openai_responses": {}, "anthropic": {}}
    for model in ("text", "calls"):
        said = {"model": model, "messages": MESSAGES}
        items = {"model": model, "input": "hi"}
        limited = {**said, "max_tokens": 100}
        seen["openai_chat"][model] = {
            "stream": seen_chat(streamed(
                chat.chat.completions.stream(**said, stream_options={"include_usage": True}),
                lambda stream: stream.get_final_completion())),
            "reply": seen_chat(chat.chat.completions.create(**said))}
        seen["openai_responses"][model] = {
            "stream": seen_response(streamed(chat.responses.stream(**items),
                                             lambda stream: stream.get_final_response())),
            "reply": seen_response(chat.responses.create(**items))}
        seen["anthropic"][model] = {
            "stream": seen_message(streamed(blocks.messages.stream(**limited),
                                            lambda stream: stream.get_final_message())),
            "reply": seen_message(blocks.messages.create(**limited))}
    print(json.dumps(seen))


main()
