"""A model's server on loopback that answers by rules, in all three formats, plain and streamed.

What it says depends on the request alone: the number of messages that it was sent and the last one,
so that a test sees in the answer what the model saw. "weather" with tools makes it call
get_weather; a result of a tool is repeated; "slow" is streamed word by word with pauses; "flaky"
fails at the first attempt of the same text; "late" comes after a while; "give json" is JSON. It
makes embeddings, too.
"""
import http.server
import json
import threading
import time

WORDS_OF_SLOW = 40
LATE = 1.2  # seconds
EMBEDDINGS = {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1},
              "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]}


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def read_chat(body):
    return [(m["role"], text_of(m.get("content"))) for m in body["messages"]]


def read_responses(body):
    said = []
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            said.append((item["role"], text_of(item["content"])))
        elif kind == "function_call_output":
            said.append(("tool", text_of(item["output"])))
        else:
            said.append(("assistant", ""))
    return said


def read_messages(body):
    said = []
    for message in body["messages"]:
        results = [p for p in message["content"] if isinstance(p, dict) and p["type"] == "tool_result"]
        said += [("tool", text_of(p.get("content", ""))) for p in results]
        if not results or text_of(message["content"]):
            said.append((message["role"], text_of(message["content"])))
    return said


def decide(said, tools):
    """A text, or a call as (id, name, arguments)."""
    said = [one for one in said if one[0] not in ("system", "developer")]
    role, last = said[-1]
    if role == "tool":
        return f"The tool said {last}."
    if tools and "weather" in last:
        return (f"call_{len(said)}", "get_weather", '{"city":"Oslo"}')
    if "slow" in last:
        return " ".join(["word"] * WORDS_OF_SLOW)
    if "give json" in last:
        return '{"n":7}'
    return f"{len(said)} messages, the last one: {last}"


def pieces_of(text):
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]


def chat_reply(answer):
    message, reason = {"role": "assistant", "content": answer}, "stop"
    if isinstance(answer, tuple):
        reason = "tool_calls"
        message = {"role": "assistant", "content": None, "tool_calls": [
            {"id": answer[0], "type": "function",
             "function": {"name": answer[1], "arguments": answer[2]}}]}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}


def chat_events(answer):
    def chunk(delta, reason=None):
        return None, {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                      "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    yield chunk({"role": "assistant"})
    if isinstance(answer, tuple):
        yield chunk({"tool_calls": [{"index": 0, "id": answer[0], "type": "function",
                                     "function": {"name": answer[1], "arguments": ""}}]})
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": answer[2]}}]})
        yield chunk({}, "tool_calls")
    else:
        for piece in pieces_of(answer):
            yield chunk({"content": piece})
        yield chunk({}, "stop")
    yield None, {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                 "choices": [], "usage": chat_reply(answer)["usage"]}


def responses_item(answer, done=True):
    if isinstance(answer, tuple):
        return {"id": "fc_up", "type": "function_call", "status": "completed", "call_id": answer[0],
                "name": answer[1], "arguments": answer[2] if done else ""}
    content = [{"type": "output_text", "text": answer, "annotations": []}] if done else []
    return {"id": "msg_up", "type": "message", "status": "completed", "role": "assistant",
            "content": content}


REASONING = {"id": "rs_up", "type": "reasoning", "summary": [], "encrypted_content": "sealed"}


def responses_reply(answer):
    return {"id": "resp_up", "object": "response", "created_at": 1, "status": "completed",
            "model": "m", "output": [REASONING, responses_item(answer)],
            "usage": {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16}}


def responses_events(answer):
    number = iter(range(10000))

    def event(kind, **fields):
        return kind, {"type": kind, "sequence_number": next(number), **fields}
    empty = {**responses_reply(answer), "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=empty)
    for kind in ("added", "done"):
        yield event(f"response.output_item.{kind}", output_index=0, item=REASONING)
    yield event("response.output_item.added", output_index=1, item=responses_item(answer, False))
    if isinstance(answer, tuple):
        place = {"output_index": 1, "item_id": "fc_up"}
        yield event("response.function_call_arguments.delta", **place, delta=answer[2])
        yield event("response.function_call_arguments.done", **place, arguments=answer[2])
    else:
        place = {"output_index": 1, "item_id": "msg_up", "content_index": 0}
        part = {"type": "output_text", "text": answer, "annotations": []}
        yield event("response.content_part.added", **place, part={**part, "text": ""})
        for piece in pieces_of(answer):
            yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
        yield event("response.output_text.done", **place, text=answer, logprobs=[])
        yield event("response.content_part.done", **place, part=part)
    yield event("response.output_item.done", output_index=1, item=responses_item(answer))
    yield event("response.completed", response=responses_reply(answer))


def messages_reply(answer):
    block, reason = {"type": "text", "text": answer}, "end_turn"
    if isinstance(answer, tuple):
        reason = "tool_use"
        block = {"type": "tool_use", "id": answer[0], "name": answer[1],
                 "input": json.loads(answer[2])}
    return {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [block],
            "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 5}}


def messages_events(answer):
    whole = messages_reply(answer)
    yield "message_start", {"type": "message_start", "message": {**whole, "content": [],
                                                                 "stop_reason": None}}
    block, deltas = {"type": "text", "text": ""}, []
    if isinstance(answer, tuple):
        block = {"type": "tool_use", "id": answer[0], "name": answer[1], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": answer[2]}]
    else:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces_of(answer)]
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    for delta in deltas:
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    yield "message_delta", {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]},
                            "usage": {"output_tokens": 5}}
    yield "message_stop", {"type": "message_stop"}


FORMATS = {"/v1/chat/completions": (read_chat, chat_reply, chat_events),
           "/v1/responses": (read_responses, responses_reply, responses_events),
           "/v1/messages": (read_messages, messages_reply, messages_events)}


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, data):
        data = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/embeddings":
            return self.send(200, EMBEDDINGS)
        read, reply, events = FORMATS[self.path]
        said = read(body)
        self.server.requests.append(body)
        if "flaky" in said[-1][1] and said[-1][1] not in self.server.failed:
            self.server.failed.add(said[-1][1])
            return self.send(500, {"error": {"message": "not now"}})
        answer = decide(said, body.get("tools"))
        if "late" in said[-1][1]:
            time.sleep(LATE)
        if not body.get("stream"):
            return self.send(200, reply(answer))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, data in events(answer):
            lines = (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
            self.wfile.write(lines.encode())
            if "slow" in said[-1][1]:
                time.sleep(0.03)
        if self.path == "/v1/chat/completions":
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


class RuleUpstream(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.requests, self.failed = [], set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # A client that went away.

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"
