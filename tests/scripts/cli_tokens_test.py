"""`pal count`, `encode` and `decode`: texts, lines, requests, files."""
import json

from pal_run import PalTest, main

HELLO = {"role": "user", "content": "hello world"}


class Tokens(PalTest):
    def test_models_of_the_settings_file_count_as_it_says(self):
        with open(self.path("palimpsest.toml"), "w", encoding="utf8") as file:
            file.write('[models.mine]\nencoding = "r50k_base"\nwindow = 200\nprices = {input = 1, output = 2}\n')
        config = ("--config", self.path("palimpsest.toml"))
        self.assertEqual(self.pal("count", "--model", "mine", *config, stdin="\u0435\u0449\u0451").out,
                         self.pal("count", "--encoding", "r50k_base", stdin="\u0435\u0449\u0451").out)
        chat = json.dumps([{"role": "user", "content": "again and again " * 20} for _ in range(9)])
        done = self.ok("compact", "--format", "openai_chat", "--model", "mine", *config, stdin=chat)
        self.assertLess(len(json.loads(done.out)), 9)
        with open(self.path("chat.json"), "w", encoding="utf8") as file:
            file.write(chat)
        self.ok("simulate", "--policy", "balanced", "--prices", "mine", *config, self.path("chat.json"))

    def test_simulate_reads_what_was_recorded_in_every_usual_shape(self):
        # Eleven minutes lie between a question and its answer: no cache lives as long.
        said = [{"role": role, "content": "again and again " * 400} for role in ("user", "assistant") * 4]
        timed = [{"at": f"2025-01-01T00:{11 * n // 2:02d}:00Z", "message": one} for n, one in enumerate(said)]
        store = ("--store", "files:" + self.path("data"))
        self.ok("append", "c1", *store, stdin=json.dumps(timed))
        shapes = {
            "list": json.dumps(timed),
            "body": json.dumps({"messages": timed}),
            "lines": "\n".join(json.dumps(one) for one in timed),
            "export": self.ok("export", "c1", *store).out,
            "log": self.ok("log", "c1", "--json", *store).out,
        }
        def told(text):
            out = self.ok("simulate", "--json", "--policy", "none", stdin=text).out
            return {key: json.loads(out)[key] for key in ("conversations", "calls", "input_tokens", "cached_tokens")}
        rows = {name: told(text) for name, text in shapes.items()}
        self.assertEqual([row["calls"] for row in rows.values()], [4] * 5)
        for name, row in rows.items():
            self.assertEqual(row, rows["list"], name)
        self.assertEqual(rows["list"]["conversations"], 1)
        self.assertEqual(rows["list"]["cached_tokens"], 0)
        self.assertGreater(told(json.dumps(said))["cached_tokens"], 0)
        self.assertEqual(told(shapes["export"] * 2)["conversations"], 2)

    def test_simulate_takes_an_empty_recording_and_names_the_line_that_is_broken(self):
        with open(self.path("empty.jsonl"), "w"):
            pass
        with open(self.path("two.json"), "w") as file:
            json.dump([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], file)
        files = (self.path("empty.jsonl"), self.path("two.json"))
        row = json.loads(self.ok("simulate", "--json", "--policy", "none", *files).out)
        self.assertEqual(row["conversations"], 1)
        good = '[{"role":"user","content":"a"}]\n'
        for text, place in (('{"bad\n' + good, "line 1, "), (good + '{"bad\n', "line 2, ")):
            told = self.pal("simulate", "--policy", "none", stdin=text)
            self.assertNotEqual(told.status, 0)
            self.assertIn("-: " + place, told.err)
        whole = json.dumps([{"role": "user", "content": "a"}], indent=1)
        told = self.pal("simulate", "--policy", "none", stdin=whole[:-2])
        self.assertNotEqual(told.status, 0)
        self.assertNotIn("line", told.err)

    def test_a_request_is_counted_by_the_model_that_it_names(self):
        body = {"messages": [{"role": "user", "content": "\u043f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440"}]}
        named = self.pal("count", "--format=openai_chat", stdin=json.dumps(body | {"model": "gpt-4-0613"})).out
        self.assertEqual(named, self.pal("count", "--format=openai_chat", "--model=gpt-4-0613", stdin=json.dumps(body)).out)
        self.assertNotEqual(named, self.pal("count", "--format=openai_chat", stdin=json.dumps(body)).out)
        told = self.pal("count", "--format=openai_chat", "--model=claude-sonnet-4-5", "--json", stdin=json.dumps(body))
        self.assertIn("estimate", told.err)
        self.assertGreater(json.loads(told.out)["tokens"], 0)

    def test_a_body_is_compacted_by_the_model_that_it_names(self):
        texts = ["\u8bf7\u5e2e\u6211\u67e5\u8be2\u8fd9\u4e2a\u8ba2\u5355\u7684\u72b6\u6001\uff0c\u8c22\u8c22\u3002" * 40] * 20
        body = {"model": "gpt-4", "messages": [{"role": "user", "content": text} for text in texts]}
        report = self.path("report.json")
        done = self.ok("compact", "--format=openai_chat", "--report", report, stdin=json.dumps(body))
        with open(report, encoding="utf8") as file:
            told = json.load(file)
        count = lambda text: int(self.pal("count", "--format=openai_chat", stdin=text).out)
        self.assertEqual((told["outcome"], told["limit"]), ("done", 8192))
        self.assertEqual(told["tokens_before"], count(json.dumps(body)))
        self.assertEqual(told["tokens_after"], count(done.out))

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
