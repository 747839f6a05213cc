"""`pal chat` at a terminal: keys, history, several lines, markdown, Ctrl-C, through a real pty."""
import http.server
import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import time

from pal_run import PROGRAM, PalTest, clean_environment, main


class Slow(http.server.BaseHTTPRequestHandler):
    """A model that says a word and then nothing for a long time; or what it is told to say."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for text in self.server.words:
                self.say({"id": "c", "object": "chat.completion.chunk", "model": "m",
                          "choices": [{"index": 0, "delta": {"content": text}}]})
            for event in self.server.ending:
                self.say(event)
            if not self.server.ending and self.server.status == 200:
                self.server.silent.wait(30)
        except OSError:
            pass

    def say(self, event):
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Terminal:
    """A program at a pty; what it shows is collected."""

    def __init__(self, folder, *words, env=None):
        self.master, slave = pty.openpty()
        extra = {"TERM": "xterm", "XDG_STATE_HOME": os.path.join(folder, "state"), **(env or {})}
        self.process = subprocess.Popen([PROGRAM, *words], cwd=folder, stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: os.set_inheritable(0, True),
                                        env=clean_environment(extra))
        os.close(slave)
        self.seen = ""

    def type(self, keys):
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    def read_until(self, pattern, seconds=20):
        """Everything shown since the last match, up to the end of this one."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.seen, re.S)
            if found:
                shown, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return shown
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"it ended without {pattern!r}: {self.seen!r}") from None

    def end(self):
        status = self.process.wait(timeout=20)
        os.close(self.master)
        return status


class ChatAtATerminal(PalTest):
    def open(self, *words, **more):
        terminal = Terminal(self.folder, "chat", "a", *words, **more)
        self.addCleanup(terminal.process.kill)
        terminal.read_until("> ")
        return terminal

    def said(self):
        entries = self.ok("log", "a", "--kind", "message", "--json").lines()
        return [e["message"]["content"] for e in entries if e["role"] == "user"]

    def test_lines_are_edited_and_typed_again_from_the_history(self):
        chat = self.open()
        chat.type("helo\x1b[Dl\r")           # left, then the missing letter
        chat.read_until(r"\[sent .*\]")
        chat.type("\x1b[A there\r")          # up: the line before
        chat.read_until(r"\[sent .*\]")
        chat.type("zweimal ä\x7fü\x01>\x05<\r")  # backspace over two bytes, home, end
        chat.read_until(r"\[sent .*\]")
        chat.type("one two\x17three\x15again\r")  # a word back, the line back
        chat.read_until(r"\[sent .*\]")
        chat.type("\x04")
        self.assertEqual(chat.end(), 0)
        self.assertEqual(self.said(), ["hello", "hello there", ">zweimal ü<", "again"])

    def test_a_message_may_have_several_lines(self):
        chat = self.open()
        chat.type("one\x1b\rtwo\r")          # Alt-Enter
        chat.read_until(r"\[sent .*\]")
        chat.type("three\\\r")
        chat.read_until(r"\. ")
        chat.type("four\r")
        chat.read_until(r"\[sent .*\]")
        chat.type("\x1b[200~def f():\r\treturn 1\x1b[201~\r")  # pasted
        chat.read_until(r"\[sent .*\]")
        chat.type("\x04")
        self.assertEqual(chat.end(), 0)
        self.assertEqual(self.said(), ["one\ntwo", "three\nfour", "def f():\n\treturn 1"])

    def test_ctrl_c_takes_back_a_line_and_at_an_empty_prompt_ends(self):
        chat = self.open()
        chat.type("never said\x03said\r")
        chat.read_until(r"\[sent .*\].*2004h.*?> ")
        chat.type("\x03")
        self.assertEqual(chat.end(), 130)
        self.assertEqual(self.said(), ["said"])

    def test_markdown_is_made_readable_and_only_with_colour(self):
        text = "# Title\\\r"
        chat = self.open()
        chat.type(text)
        chat.type("a **bold** `word`\r")
        shown = chat.read_until(r"\[sent .*\]")
        self.assertIn("\x1b[1mbold\x1b[0m", shown)
        self.assertIn("\x1b[2mword\x1b[0m", shown)
        chat.type("\x04")
        chat.end()
        plain = self.open(env={"NO_COLOR": "1"})
        plain.type("a **bold** `word`\r")
        plain.read_until("word")
        self.assertIn("**bold** `word`", plain.read_until(r"\[sent .*\]"))
        plain.type("\x04")
        plain.end()

    def test_the_status_line_tells_how_full_the_window_is(self):
        self.write("palimpsest.toml", '[models.echo]\nwindow = 1000\n')
        chat = self.open()
        chat.type("hello\r")
        self.assertRegex(chat.read_until(r"of 1000 tokens\]"), r"\[\d+ of 1000 tokens\]")
        chat.type("\x04")
        chat.end()

    def model(self, words, ending=(), status=200):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
        server.words, server.silent, server.daemon_threads = words, threading.Event(), True
        server.ending, server.status = ending, status
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.silent.set)
        self.write("palimpsest.toml", f'[models.slow]\nurl = "http://127.0.0.1:'
                                      f'{server.server_address[1]}/v1"\n')

    def test_ctrl_c_stops_the_answer_keeps_it_and_the_chat_goes_on(self):
        self.model(["Once ", "upon "])
        chat = self.open("--model", "slow")
        chat.type("tell me a story\r")
        chat.read_until("upon")
        os.killpg(chat.process.pid, signal.SIGINT)  # as the terminal does for its foreground
        chat.read_until("kept as it is")
        chat.read_until("> ")
        chat.type("\x04")
        self.assertEqual(chat.end(), 0)
        answer = self.ok("log", "a", "--kind", "message", "--last", "1", "--json").json()
        self.assertEqual((answer["message"]["content"], answer["interrupted"]),
                         ("Once upon ", True))

    def test_ctrl_c_stops_a_model_that_says_nothing(self):
        self.model([])
        chat = self.open("--model", "slow")
        chat.type("hello?\r")
        time.sleep(0.3)
        os.killpg(chat.process.pid, signal.SIGINT)
        chat.read_until("stopped before anything came")
        self.assertNotIn("entry 0", chat.read_until("> "))
        chat.type("\x04")
        self.assertEqual(chat.end(), 0)
        self.assertEqual(self.said(), ["hello?"])

    def test_what_was_typed_is_there_in_the_next_sitting_for_its_owner_alone(self):
        chat = self.open()
        chat.type("from the\x1b\rfirst\r")
        chat.read_until(r"\[sent .*\]")
        chat.type("\x04")
        chat.end()
        kept = self.path("state/palimpsest/chat_history")
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.dirname(kept)).st_mode & 0o777, 0o700)
        chat = self.open()
        chat.type("\x1b[A!\r")
        chat.read_until(r"\[sent .*\]")
        chat.type("\x04")
        chat.end()
        self.assertEqual(self.said(), ["from the\nfirst", "from the\nfirst!"])
        chat = self.open("--chat-history", "none")
        chat.type("\x1b[A\x1b[Asecret\r")
        chat.read_until(r"\[sent .*\]")
        chat.type("\x04")
        chat.end()
        self.assertEqual(self.said()[-1], "secret")
        with open(kept) as file:
            self.assertNotIn("secret", file.read())

    def test_others_may_use_the_store_while_nothing_is_asked(self):
        chat = self.open()
        chat.type("first\r")
        chat.read_until(r"\[sent 1 of 1 .*\]")
        self.say("a", "from elsewhere")
        chat.type("second\r")
        chat.read_until(r"\[sent 4 of 4 .*\]")
        chat.type("\x04")
        chat.end()
        self.assertEqual(self.said(), ["first", "from elsewhere", "second"])

    def test_an_answer_that_ended_early_says_why(self):
        cut = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
        broken = {"error": {"message": "capacity lost", "type": "server_error"}}
        for ending, words in ((cut, "cut off at the most tokens"), (broken, "capacity lost")):
            self.model(["Once "], [ending])
            chat = self.open("--model", "slow")
            chat.type("a story\r")
            self.assertIn(words, chat.read_until(r"\[sent .*\]"))
            chat.type("\x04")
            chat.end()
        self.model([], [], 401)
        chat = self.open("--model", "slow")
        chat.type("a story\r")
        shown = chat.read_until("key_file")
        self.assertIn("pal: upstream_failed: ", shown)
        chat.type("/nothing\r")
        chat.read_until("pal: invalid_request: there is no command /nothing")
        chat.type("/help\r")
        chat.read_until(r"/compact \[POLICY\] +Compacts")
        chat.type("\x04")
        chat.end()


class ChatInAPipe(PalTest):
    def test_json_tells_how_the_turn_ended_what_it_cost_and_what_was_compacted(self):
        self.write("palimpsest.toml", "[models.echo]\nprices = {input = 1000, output = 1000}\n")
        self.ok("append", "a", stdin=json.dumps([{"role": r, "content": "word " * 50}
                                                 for r in ("user", "assistant") * 4]))
        done = self.pal("chat", "a", "--json", stdin="hello\n").json()
        self.assertEqual((done["outcome"], done["note"], done["interrupted"]), ("done", "", False))
        self.assertGreater(done["cost"]["dollars"], 0)
        self.assertEqual((done["compaction"], done["warnings"]), (None, []))
        self.assertEqual(done["message"]["role"], "assistant")


class Summarising(http.server.BaseHTTPRequestHandler):
    """A model that writes summaries; what it was told is kept."""

    def do_POST(self):
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = {"id": "c", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop",
             "message": {"role": "assistant", "content": "They spoke of ORD-4711."}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 8}}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class SummariserOfTheSettings(PalTest):
    def test_writes_summaries_with_its_own_prompt_in_one_call(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Summarising)
        server.told, server.daemon_threads = [], True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.write("prompt.txt", "Only order numbers, please.")
        self.write("palimpsest.toml", 'summarizer = "small"\nsummarizer_prompt = "prompt.txt"\n'
                   f'[models.small]\nurl = "http://127.0.0.1:{server.server_address[1]}/v1"\n')
        talk = [{"role": "user", "content": "the order is ORD-4711 " + "and so on " * 60},
                {"role": "assistant", "content": "noted " * 60},
                {"role": "user", "content": "thanks"}]
        self.ok("append", "a", stdin=json.dumps(talk))
        policy = '{"passes":[{"pass":"summarize","keep_turns":1,"max_tokens":40}]}'
        self.ok("compact", "a", "--policy", policy)
        summary = self.ok("summary", "a", "--json").lines()[0]
        self.assertIn("They spoke of ORD-4711.", summary["text"])
        self.assertEqual(summary["model"], "small")
        self.assertEqual(len(server.told), 1)
        self.assertEqual(server.told[0]["messages"][0]["content"], "Only order numbers, please.")

    def test_a_model_that_is_not_there_is_refused_by_name(self):
        self.write("palimpsest.toml", 'summarizer = "nobody"\n')
        self.assertIn("nobody", self.fails(2, "invalid_request", "append", "a", stdin="{}"))


if __name__ == "__main__":
    main()
