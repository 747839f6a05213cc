"""`pal validate`, `repair` and `convert`: bare lists, request bodies, JSON Lines of either."""
import json

from pal_run import PalTest, main

HELLO = {"role": "user", "content": "Hello"}
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "one"}


class Formats(PalTest):
    def test_validate_names_the_rule_and_the_place(self):
        broken = json.dumps([HELLO, CALL, HELLO])
        done = self.pal("validate", "--format", "openai_chat", stdin=broken)
        self.assertEqual(done.status, 1)
        self.assertEqual([(v["rule"], v["at"]) for v in done.lines()], [("C2", 1)])
        good = json.dumps({"model": "m", "messages": [HELLO, CALL, RESULT]})
        done = self.pal("validate", "--format", "openai_chat", stdin=good)
        self.assertEqual((done.status, done.out), (0, ""))

    def test_validate_takes_lines_and_says_which(self):
        text = json.dumps([HELLO]) + "\n" + json.dumps({"messages": [RESULT]}) + "\n"
        done = self.pal("validate", "--format=openai_chat", "--jsonl", stdin=text)
        self.assertEqual(done.status, 1)
        self.assertEqual([(v["line"], v["rule"]) for v in done.lines()], [(2, "C1")])

    def test_duplicate_keys_are_refused_and_no_json_is_an_error(self):
        twice = '[{"role":"user","content":"a","content":"b"}]'
        done = self.pal("validate", "--format=openai_chat", stdin=twice)
        self.assertEqual((done.status, done.lines()[0]["rule"]), (1, "json"))
        self.fails(2, "invalid_request", "validate", "--format=openai_chat", stdin="[")
        self.fails(2, "invalid_request", "validate", stdin="[]")
        self.fails(2, "invalid_request", "validate", "--format=gemini", stdin="[]")

    def test_repair_keeps_the_shape_and_what_is_whole(self):
        body = {"model": "m", "messages": [HELLO, CALL, HELLO]}
        done = self.pal("repair", "--format", "openai_chat", stdin=json.dumps(body))
        self.assertEqual(done.status, 0)
        self.assertIn("message 1: answered the call", done.err)
        again = self.pal("repair", "--format", "openai_chat", stdin=done.out)
        self.assertEqual((again.out, again.err), (done.out, ""))
        self.assertEqual([m["role"] for m in done.json()["messages"]],
                         ["user", "assistant", "tool", "user"])

    def test_convert_goes_round_and_reports_what_is_lost(self):
        text = json.dumps([HELLO, CALL, RESULT])
        formats = ["openai_chat", "openai_responses", "anthropic", "openai_chat"]
        for before, after in zip(formats, formats[1:]):
            text = self.pal("convert", "--from", before, "--to", after, stdin=text).out
        self.assertEqual(json.loads(text), [HELLO, CALL, RESULT])
        thinking = [HELLO, {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "x"}]}]
        done = self.pal("convert", "--from=anthropic", "--to=openai_chat", stdin=json.dumps(thinking))
        self.assertIn("not carried: thinking", done.err)


class DeepMessages(PalTest):
    def test_what_append_takes_comes_back_from_an_export(self):
        deep = '{"role":"user","content":"x","extra":' + "[" * 63 + "]" * 63 + "}"
        self.ok("append", "deep", stdin=deep)
        self.write("deep.jsonl", self.ok("export", "deep").out)
        self.ok("import", "deep.jsonl", "--store", "sqlite:other.db")
        self.assertEqual(self.ok("view", "deep", "--store", "sqlite:other.db").out,
                         self.ok("view", "deep").out)

    def test_a_field_that_no_other_format_has_is_told(self):
        done = self.pal("convert", "--from", "openai_chat", "--to", "anthropic",
                        stdin='[{"role":"user","content":"hi","mood":"good"}]')
        self.assertIn("mood", done.err)


if __name__ == "__main__":
    main()
