"""`pal count`, `encode` and `decode`: texts, lines, requests, files."""
import json

from pal_run import PalTest, main

HELLO = {"role": "user", "content": "hello world"}


class Tokens(PalTest):
    def test_count_prints_the_bare_number(self):
        self.assertEqual(self.pal("count", stdin="hello world").out, "2\n")
        self.assertEqual(self.pal("count", "--encoding", "approx", stdin="hello world").out, "3\n")
        self.assertEqual(self.pal("count", "--model", "gpt-4-0613", stdin="<|endoftext|>").out, "7\n")

    def test_count_takes_lines_and_requests(self):
        lines = json.dumps("hello world") + "\n" + json.dumps("a") + "\n"
        self.assertEqual(self.pal("count", "--jsonl", stdin=lines).out, "2\n1\n")
        body = json.dumps({"model": "gpt-4o", "messages": [HELLO]})
        for text in (body, json.dumps([HELLO])):
            done = self.pal("count", "--format=openai_chat", "--model=gpt-4o", stdin=text)
            self.assertEqual(done.out, "9\n")
        self.fails(2, "invalid_request", "count", "--jsonl", stdin="{}\n")

    def test_encode_and_decode_are_inverse(self):
        done = self.pal("encode", stdin="hello world")
        self.assertEqual(json.loads(done.out), [24912, 2375])
        self.assertEqual(self.pal("decode", stdin=done.out).out, "hello world")
        done = self.pal("encode", "--special", stdin="a<|endoftext|>")
        self.assertEqual(json.loads(done.out), [64, 199999])
        lines = json.dumps("\u00e9\n") + "\n" + json.dumps("") + "\n"
        done = self.pal("encode", "--jsonl", "--encoding=cl100k_base", stdin=lines)
        back = self.pal("decode", "--jsonl", "--encoding=cl100k_base", stdin=done.out)
        self.assertEqual([json.loads(line) for line in back.out.splitlines()], ["\u00e9\n", ""])

    def test_refuses_what_is_not_there(self):
        self.fails(2, "invalid_request", "decode", stdin="[300000]")
        self.fails(2, "invalid_request", "decode", stdin="{}")


if __name__ == "__main__":
    main()
