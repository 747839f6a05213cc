"""Every command of `pal`, from outside: what it prints, as JSON and for people."""
import json
import os
import signal
import subprocess

from pal_run import PROGRAM, TIME, PalTest, clean_environment, main

HELLO = '{"role":"user","content":"Hello"}'
HEADER_FIELDS = ["id", "owner", "title", "system_prompt", "metadata", "policy", "messages", "seq",
                 "created_at", "updated_at", "accessed_at", "expires_at", "ttl_ms", "parent", "log",
                 "revision"]


class Sent(PalTest):
    def test_shows_what_the_model_was_sent_at_a_past_call(self):
        self.pal("chat", "a", stdin="one\ntwo\n")
        newest = self.ok("sent", "a", "--json").json()
        self.assertEqual(newest["note"]["model"], "echo")
        self.assertEqual(len(newest["view"]["items"]), 3)
        calls = [e["seq"] for e in map(json.loads, self.ok("log", "a", "--json").out.splitlines())
                 if e["kind"] == "note" and e["note"]["kind"] == "call"]
        first = self.ok("sent", "a", str(calls[0]), "--json").json()
        self.assertEqual([i["message"]["content"] for i in first["view"]["items"]], ["one"])
        self.assertIn("one", self.ok("sent", "a", str(calls[0])).out)
        self.fails(2, "unprocessable", "sent", "a", "1")
        self.ok("append", "b", stdin=HELLO)
        self.fails(4, "not_found", "sent", "b")


class Bench(PalTest):
    def test_measures_the_store_and_leaves_nothing_behind(self):
        self.ok("append", "a", stdin=HELLO)
        lines = self.ok("bench", "--seconds", "1", "--writers", "4", "--json").out.splitlines()
        rows = [json.loads(line) for line in lines]
        self.assertEqual([sorted(row) for row in rows],
                         [["count", "p50_ms", "p99_ms", "per_second", "what"]] * 4)
        self.assertTrue(all(row["count"] > 0 for row in rows))
        self.assertEqual([row["id"] for row in
                          map(json.loads, self.ok("list", "--json").out.splitlines())], ["a"])
        self.fails(2, "invalid_request", "bench", "--seconds", "0")


class Append(PalTest):
    def test_prints_the_new_end_of_the_log(self):
        self.assertEqual(self.ok("append", "a", stdin=HELLO).out, "1\n")
        self.assertEqual(self.ok("append", "a", stdin=HELLO).out, "2\n")

    def test_takes_a_list_or_lines_or_a_body_or_a_file(self):
        self.assertEqual(self.ok("append", "a", stdin=f"[{HELLO},{HELLO}]").out, "2\n")
        self.assertEqual(self.ok("append", "a", stdin=f"{HELLO}\n\n{HELLO}\r\n{HELLO}").out, "5\n")
        self.assertEqual(self.ok("append", "a", stdin=f'{{"messages":[{HELLO}]}}').out, "6\n")
        self.assertEqual(self.ok("append", "a", self.write("m.json", HELLO)).out, "7\n")
        self.assertEqual(self.ok("append", "a", "-", stdin=HELLO).out, "8\n")

    def test_keeps_a_message_as_it_came(self):
        odd = '{ "content" : "caf\\u00e9 \\/ 1e3",\t"role":"user", "x": 1.50 }'
        self.ok("append", "a", stdin=odd)
        line = self.ok("log", "a", "--json").out
        self.assertIn(f'"message":{odd}', line)

    def test_one_entry_stays_on_one_line_however_it_was_laid_out(self):
        self.ok("append", "a", stdin='{\n "role": "user",\r\n "content": "x"\n}\n')
        lines = self.ok("log", "a", "--json").out.splitlines()
        self.assertEqual(len(lines), 1)
        self.assertEqual(json.loads(lines[0])["message"], {"role": "user", "content": "x"})

    def test_takes_the_time_of_imports(self):
        self.ok("append", "a", stdin=f'{{"at":"2001-02-03T04:05:06Z","message":{HELLO}}}')
        self.assertEqual(self.ok("log", "a", "--json").json()["at"], "2001-02-03T04:05:06.000Z")

    def test_a_key_makes_a_repeat_harmless(self):
        first = self.ok("append", "a", "--key", "k", "--json", stdin=HELLO).json()
        again = self.ok("append", "a", "--key", "k", "--json", stdin=HELLO + "\n").json()
        self.assertEqual((first["seq"], first["again"]), (1, False))
        self.assertEqual((again["seq"], again["again"]), (1, True))
        self.assertEqual(again["ids"], first["ids"])
        self.fails(2, "unprocessable", "append", "a", "--key", "k",
                   stdin='{"role":"user","content":"other"}')

    def test_expect_and_no_create_are_kept(self):
        self.fails(4, "not_found", "append", "a", "--no-create", stdin=HELLO)
        self.ok("append", "a", "--expect", "0", stdin=HELLO)
        self.fails(5, "conflict", "append", "a", "--expect", "0", stdin=HELLO)

    def test_other_formats(self):
        block = '{"role":"user","content":[{"type":"text","text":"Hi"}]}'
        self.ok("append", "a", "--format", "anthropic", stdin=block)
        self.assertEqual(self.ok("view", "a", "--format", "anthropic").json(), [json.loads(block)])
        self.assertEqual(self.ok("log", "a", "--json").json()["format"], "anthropic")

    def test_sets_the_header(self):
        self.ok("append", "a", "--owner", "ann", "--title", "T", "--system", "S", "--meta", "k=v",
                "--meta", "n=a=b", "--ttl", "24h", stdin=HELLO)
        header = self.ok("show", "a", "--json").json()
        self.assertEqual((header["owner"], header["title"], header["system_prompt"]),
                         ("ann", "T", "S"))
        self.assertEqual(header["metadata"], {"k": "v", "n": "a=b"})
        self.assertEqual(header["ttl_ms"], 86400000)
        self.assertRegex(header["expires_at"], TIME)


class Reading(PalTest):
    def test_log_json_is_one_entry_per_line(self):
        self.say("a", "one", "two")
        first, second = self.ok("log", "a", "--json").lines()
        self.assertEqual(list(first)[:4], ["seq", "kind", "at", "tokens"])
        self.assertEqual((first["seq"], first["kind"], first["role"]), (1, "message", "user"))
        self.assertEqual(first["message"], {"role": "user", "content": "one"})
        self.assertGreater(first["tokens"], 0)
        self.assertRegex(first["at"], TIME)
        self.assertEqual(second["seq"], 2)

    def test_log_can_be_narrowed(self):
        self.say("a", *[str(i) for i in range(1, 7)])
        self.ok("pin", "a", "2")

        def seqs(*words):
            return [entry["seq"] for entry in self.ok("log", "a", "--json", *words).lines()]
        self.assertEqual(seqs("--from", "3", "--to", "4"), [3, 4])
        self.assertEqual(seqs("--last", "2"), [6, 7])
        self.assertEqual(seqs("--last", "0"), [])
        self.assertEqual(seqs("--kind", "pin"), [7])
        self.assertEqual(seqs("--kind", "pin", "--kind", "message", "--last", "2"), [6, 7])

    def test_log_goes_on_over_many_pages(self):
        self.ok("append", "a", stdin="\n".join([HELLO] * 700))
        seqs = [entry["seq"] for entry in self.ok("log", "a", "--json").lines()]
        self.assertEqual(seqs, list(range(1, 701)))

    def test_view_json(self):
        self.say("a", "one", "two")
        view = self.ok("view", "a", "--json").json()
        self.assertEqual(list(view), ["items", "tokens", "seq"])
        self.assertEqual(list(view["items"][0]),
                         ["kind", "from", "to", "tokens", "reason", "message"])
        self.assertEqual([(i["kind"], i["from"], i["to"]) for i in view["items"]],
                         [("verbatim", 1, 1), ("verbatim", 2, 2)])
        self.assertEqual(view["tokens"], sum(i["tokens"] for i in view["items"]))
        self.assertEqual(view["seq"], 2)

    def test_view_in_a_format_is_the_list_to_send(self):
        self.say("a", "one", "two")
        self.assertEqual(self.ok("view", "a", "--format", "openai_chat").json(),
                         [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])

    def test_view_in_another_format_is_converted(self):
        self.say("a", "one")
        self.say("a", "two", role="assistant")
        items = self.ok("view", "a", "--format", "openai_responses").json()
        self.assertEqual([item["role"] for item in items], ["user", "assistant"])
        blocks = self.ok("view", "a", "--format", "anthropic").json()
        self.assertEqual([message["role"] for message in blocks], ["user", "assistant"])
        self.assertIn("one", json.dumps(blocks[0]))

    def test_view_in_a_format_says_what_it_had_to_repair(self):
        self.ok("append", "a", stdin='[{"role":"user","content":"go"},{"role":"assistant",'
                '"tool_calls":[{"id":"c1","type":"function","function":{"name":"f",'
                '"arguments":"{}"}}]}]')
        done = self.pal("view", "a", "--format", "openai_chat")
        self.assertEqual(done.status, 0)
        self.assertEqual([m["role"] for m in done.json()], ["user", "assistant", "tool"])
        self.assertIn("repaired at 1: ", done.err)

    def test_view_at_a_past_entry(self):
        self.say("a", "one", "two")
        self.ok("retract", "a", "1")
        self.assertEqual([i["from"] for i in self.ok("view", "a", "--json").json()["items"]], [2])
        past = self.ok("view", "a", "--at", "2", "--json").json()
        self.assertEqual(([i["from"] for i in past["items"]], past["seq"]), ([1, 2], 2))

    def test_view_explains_what_is_left_out(self):
        self.say("a", "one", "two", "three")
        self.ok("retract", "a", "1..2", "--reason", "a slip")
        view = self.ok("view", "a", "--explain", "--json").json()
        self.assertEqual(view["left_out"], [{"from": 1, "to": 2, "messages": 2,
                                             "reason": "retracted: a slip", "by": 4}])
        text = self.ok("view", "a", "--explain").out
        self.assertIn("1..2  2 messages, by entry 4: retracted: a slip", text)
        self.ok("undo", "a")
        self.assertIn("nothing was left out", self.ok("view", "a", "--explain").out)

    def test_view_for_people_is_aligned_and_plain(self):
        self.say("a", "one", "two")
        lines = self.ok("view", "a").out.splitlines()
        self.assertRegex(lines[0], r"\AKIND +SEQ +TOKENS +ROLE +MESSAGE\Z")
        self.assertRegex(lines[1], r"\Averbatim +1 +\d+ +user +one\Z")
        self.assertEqual(lines[1].index("one"), lines[0].index("MESSAGE"))
        self.assertNotIn("\x1b", "".join(lines))

    def test_list_and_show(self):
        self.say("a", "one")
        self.say("b", "one", "two")
        headers = self.ok("list", "--json").lines()
        self.assertEqual([h["id"] for h in headers], ["b", "a"])
        self.assertEqual(list(headers[0]), HEADER_FIELDS)
        self.assertEqual((headers[0]["messages"], headers[0]["seq"]), (2, 2))
        self.assertEqual((headers[0]["metadata"], headers[0]["policy"], headers[0]["parent"],
                          headers[0]["expires_at"], headers[0]["ttl_ms"]), ({}, None, None, None,
                                                                           None))
        self.assertEqual(self.ok("show", "b", "--json").json(), headers[0])
        self.assertRegex(self.ok("show", "b").out, r"messages +2\n")
        self.assertRegex(self.ok("list").out.splitlines()[1], r"\Ab +2 ")

    def test_list_filters_sorts_and_pages(self):
        for name, owner in (("a", "ann"), ("b", "bob"), ("c", "ann")):
            self.ok("append", name, "--owner", owner, "--meta", f"n={name}", stdin=HELLO)

        def ids(*words):
            return [header["id"] for header in self.ok("list", "--json", *words).lines()]
        self.assertEqual(ids("--owner", "ann"), ["c", "a"])
        self.assertEqual(ids("--meta", "n=b"), ["b"])
        self.assertEqual(ids("--sort", "created", "--oldest-first"), ["a", "b", "c"])
        self.assertEqual(ids("--limit", "2"), ["c", "b"])
        self.assertEqual(ids("--limit", "1", "--all"), ["c", "b", "a"])
        page = self.pal("list", "--limit", "2")
        cursor = page.err.split()[-1]
        self.assertEqual(page.status, 0)
        self.assertEqual(ids("--limit", "2", "--after", cursor), ["a"])

    def test_tenants_do_not_see_each_other(self):
        self.ok("append", "a", "--tenant", "one", stdin=HELLO)
        self.assertEqual(self.ok("list", "--json", "--tenant", "two").out, "")
        self.fails(4, "not_found", "view", "a")
        self.assertEqual(len(self.ok("list", "--json", env={"PAL_TENANT": "one"}).lines()), 1)


class Edits(PalTest):
    def kinds(self):
        return [entry["kind"] for entry in self.ok("log", "a", "--json").lines()]

    def shown(self, name="a"):
        return [item["from"] for item in self.ok("view", name, "--json").json()["items"]]

    def test_fork(self):
        self.say("a", "one", "two", "three")
        self.assertEqual(self.ok("fork", "a", "b").out, "3\n")
        self.assertEqual(self.ok("fork", "a", "c", "--at", "2").out, "2\n")
        header = self.ok("fork", "a", "d", "--at=1", "--json").json()
        self.assertEqual((header["id"], header["parent"]["seq"]), ("d", 1))
        self.say("c", "other")
        self.assertEqual(self.shown("c"), [1, 2, 3])
        self.assertEqual(self.shown("a"), [1, 2, 3])
        self.fails(5, "conflict", "fork", "a", "b")
        self.fails(2, "invalid_request", "fork", "a", "e", "--at", "99")

    def test_checkpoints_and_forks_from_them(self):
        self.say("a", "one")
        made = self.ok("checkpoint", "a", "here", "--meta", "why=test", "--json").json()
        self.assertEqual((made["name"], made["metadata"]), ("here", {"why": "test"}))
        self.say("a", "two")
        other = self.ok("checkpoint", "a", "there").out.strip()
        listed = self.ok("checkpoints", "a", "--json").lines()
        self.assertEqual([(c["name"], c["id"]) for c in listed],
                         [("here", made["id"]), ("there", other)])
        self.assertEqual(list(listed[0]), ["id", "seq", "at", "name", "metadata"])
        self.assertEqual(len(self.ok("checkpoints", "a", "--meta", "why=test", "--json").lines()),
                         1)
        self.assertRegex(self.ok("checkpoints", "a").out, r"(?m)^ *2 +here ")
        self.ok("fork", "a", "b", "--at", "here")
        self.ok("fork", "a", "c", "--at", other)
        self.assertEqual((self.shown("b"), self.shown("c")), ([1], [1, 3]))
        self.fails(4, "not_found", "fork", "a", "d", "--at", "nowhere")

    def test_pin_unpin_retract_undo_print_their_entry(self):
        self.say("a", "one", "two")
        self.assertEqual(self.ok("pin", "a", "last").out, "3\n")
        item = self.ok("view", "a", "--json").json()["items"][1]
        self.assertTrue(item["pinned"])
        self.assertEqual(self.ok("unpin", "a", "2", "--json").json(), {"seq": 4})
        self.assertEqual(self.ok("retract", "a", "1").out, "5\n")
        self.assertEqual(self.shown(), [2])
        self.assertEqual(self.ok("undo", "a").out, "6\n")
        self.assertEqual(self.shown(), [1, 2])
        self.assertEqual(self.ok("undo", "a", "6").out, "7\n")
        self.assertEqual(self.shown(), [2])
        self.assertEqual(self.kinds(),
                         ["message", "message", "pin", "pin", "retract", "undo", "undo"])

    def test_compact_by_a_policy(self):
        self.say("a", *[f"message {i}" for i in range(8)])
        policy = '{"passes":[{"pass":"keep_last","messages":3}]}'
        preview = self.ok("compact", "a", "--policy", policy, "--preview", "--json").json()
        self.assertEqual((preview["outcome"], preview["seq"]), ("done", None))
        self.assertEqual(self.shown(), [1, 2, 3, 4, 5, 6, 7, 8])
        done = self.ok("compact", "a", "--policy", self.write("p.json", policy), "--json").json()
        self.assertEqual((done["outcome"], done["seq"]), ("done", 9))
        self.assertEqual(list(done["edits"][0])[:4], ["kind", "from", "to", "reason"])
        self.assertEqual(self.shown(), [6, 7, 8])
        self.assertLess(done["tokens_after"], done["tokens_before"])
        entry = self.ok("log", "a", "--kind", "compaction", "--json").json()
        self.assertEqual(entry["compaction"]["edits"], done["edits"])
        self.ok("undo", "a")
        self.assertEqual(self.shown(), [1, 2, 3, 4, 5, 6, 7, 8])

    def test_breakdown_and_compact_go_by_the_policy_that_a_turn_would_have(self):
        self.write("palimpsest.toml", '[agents.support]\nmemory_strategy = '
                                      '{ mode = "trim", max_user_turns = 2 }\n')
        self.ok("append", "agents", "--meta", "agent_type=support", stdin=HELLO)
        self.ok("append", "nobodys", stdin=HELLO)

        def triggers(*words):
            told = self.ok("breakdown", *words, "--json").json()["triggers"]
            return [(one["trigger"], one["at"]) for one in told]
        self.assertEqual(triggers("nobodys"), [("window_share", 0.9)])
        self.assertEqual(triggers("nobodys"), triggers("nobodys", "--policy", "balanced"))
        self.assertEqual(triggers("agents")[0], ("turns", 2))
        for name, policy in (("nobodys", "balanced"), ("agents", "trim")):
            done = self.ok("compact", name, "--preview", "--json").json()
            self.assertEqual(done["policy"], policy)
        self.assertNotIn("by itself", self.ok("breakdown", "nobodys").out)
        self.assertIn("no trigger: nothing is compacted by itself",
                      self.ok("breakdown", "nobodys", "--policy", "none").out)

    def test_compact_a_file_asks_what_an_edit_pays_and_tells_repairs(self):
        said = [{"role": "user", "content": "many words " * 50} for _ in range(8)]
        path = self.write("said.json", json.dumps(said))
        policy = ('{"triggers":{"messages":5},"passes":[{"pass":"keep_last","messages":3}],'
                  '"min_gain":{"dollars":%s}}')
        shown = [len(self.ok("compact", "--format", "openai_chat", "--model", "gpt-4o",
                             "--policy", policy % dollars, path).json())
                 for dollars in ("1000", "0.000001")]
        self.assertEqual(shown, [8, 3])
        self.ok("compact", "--format", "openai_chat", "--policy", '"balanced"', path)
        orphan = self.write("orphan.json", json.dumps(
            said[:1] + [{"role": "tool", "tool_call_id": "c1", "content": "x"}]))
        done = self.pal("compact", "--format", "openai_chat", orphan)
        self.assertEqual(done.status, 0)
        self.assertIn("repaired: ", done.err)

    def test_scrub_removes_the_words_for_good(self):
        self.say("a", "the secret word", "other")
        self.ok("fork", "a", "b")
        self.assertEqual(self.ok("scrub", "a", "1", "1").out, "scrubbed 1\n")
        for name in ("a", "b"):
            self.assertNotIn("secret", self.ok("log", name, "--json").out)
        self.assertTrue(self.ok("log", "a", "--json").lines()[0]["scrubbed"])
        for root, _, files in os.walk(self.folder):
            for file in files:
                with open(os.path.join(root, file), "rb") as content:
                    self.assertNotIn(b"secret word", content.read(), file)

    def test_erase_gives_a_receipt(self):
        self.say("a", "one", "two")
        self.ok("fork", "a", "b", "--at", "1")
        receipt = self.ok("erase", "a", "--json").json()
        self.assertEqual(receipt["kept_for"], ["b"])
        self.fails(4, "not_found", "view", "a")
        self.assertEqual(self.shown("b"), [1])
        self.assertRegex(self.ok("erase", "b").out, r"\Aerased \d+ entries, with their summaries and their words in the search index\n"
                         r"what may still have it: backups and copies that were made before\n\Z")
        self.fails(4, "not_found", "erase", "b")


class Chat(PalTest):
    def test_answers_each_line_and_says_what_was_sent(self):
        done = self.pal("chat", "a", stdin="Hello there\n\nAnd again")
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("Hello there", done.out)
        self.assertIn("And again", done.out)
        self.assertNotIn("> ", done.out)
        status = done.err.splitlines()
        self.assertRegex(status[0], r"\A\[sent 1 of 1 messages, \d+ tokens; left out 0; entry \d+\]")
        self.assertRegex(status[1], r"\A\[sent 3 of 3 messages, ")
        roles = [e["role"] for e in self.ok("log", "a", "--kind", "message", "--json").lines()]
        self.assertEqual(roles, ["user", "assistant", "user", "assistant"])

    def test_names_a_new_conversation(self):
        done = self.pal("chat", stdin="Hi\n")
        name = done.err.split()[1]
        self.assertEqual(self.ok("show", name, "--json").json()["messages"], 2)

    def test_json_gives_one_turn_per_line(self):
        turns = self.ok("chat", "a", "--json", "--system", "Be brief", stdin="One\nTwo\n").lines()
        self.assertEqual([t["conversation_id"] for t in turns], ["a", "a"])
        self.assertEqual(turns[0]["message"]["role"], "assistant")
        self.assertGreater(turns[1]["seq"], turns[0]["seq"])
        self.assertEqual(self.ok("view", "a", "--json").json()["items"][0]["message"]["content"],
                         "One")

    def test_escape_sequences_of_an_answer_do_not_reach_the_terminal(self):
        out = self.pal("chat", "a", stdin=b"red \x1b[31m \xc2\x9b1m and \xe2\x80\xae\n").raw
        for sequence in (b"\x1b", b"\xc2\x9b", b"\xe2\x80\xae"):
            self.assertNotIn(sequence, out)

    def test_ctrl_c_stops_the_answer_and_keeps_it(self):
        process = subprocess.Popen([PROGRAM, "chat", "a"], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=clean_environment())
        words = b"word " * 400_000  # more than a pipe takes: the answer waits for its reader
        process.stdin.write(words + b"\n")
        process.stdin.flush()
        start = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertLess(len(start + rest), len(words))
        answer = self.ok("log", "a", "--kind", "message", "--last", "1", "--json").json()
        self.assertEqual((answer["role"], answer["interrupted"]), ("assistant", True))


class Other(PalTest):
    def test_doctor_finds_nothing_wrong(self):
        self.say("a", "one")
        done = self.ok("doctor")
        self.assertIn("nothing is wrong", done.out)
        report = self.ok("doctor", "--json").json()
        self.assertEqual(report["findings"], [])
        self.assertTrue(report["durability"]["power_cut"])

    def test_doctor_on_a_damaged_file_says_so(self):
        self.ok("append", "a", stdin="\n".join([HELLO] * 500))
        path = self.path("palimpsest.db")
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.seek(size // 2)
            file.write(b"\xa5" * (size // 3))
        done = self.pal("doctor")
        self.assertNotEqual(done.status, 0)
        self.assertNotEqual(done.out + done.err, "")
        self.assertNotIn("nothing is wrong", done.out)

    def test_settings_come_from_flag_environment_and_file(self):
        self.write("palimpsest.toml", "tenant = 'file'\n")
        self.ok("append", "a", stdin=HELLO)
        self.assertEqual(self.ok("list", "--json", "--tenant", "file").json()["id"], "a")
        self.assertEqual(self.ok("list", "--json", env={"PAL_TENANT": "x"}).out, "")
        self.assertEqual(self.ok("--tenant", "file", "list", "--json").json()["id"], "a")
        self.assertEqual(self.ok("list", "--json", "--tenant=file", env={"PAL_TENANT": "x"})
                         .json()["id"], "a")

    def test_json_can_be_a_setting(self):
        self.say("a", "one")
        self.assertEqual(self.ok("list", env={"PAL_JSON": "1"}).json()["id"], "a")

    def test_the_memory_store_lives_as_long_as_the_command(self):
        done = self.pal("append", "a", "--store", "memory:", stdin=HELLO)
        self.assertEqual((done.status, done.out), (0, "1\n"))
        self.assertRegex(done.err, r"\Apal: warning: [^\n]*nothing is kept\n\Z")
        chat = self.pal("chat", "a", "--store", "memory:", stdin="Hi\n")
        self.assertNotIn("warning", chat.err)
        self.fails(4, "not_found", "view", "a", "--store", "memory:")

    def test_a_closed_pipe_ends_quietly(self):
        self.ok("append", "a", stdin="\n".join([HELLO] * 20000))
        for words in (["log", "a"], ["log", "a", "--json"], ["view", "a", "--json"]):
            process = subprocess.Popen([PROGRAM, *words], cwd=self.folder, env=clean_environment(),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.wait(60), 0)
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()

    def test_output_that_cannot_be_written_is_an_error(self):
        self.say("a", "one")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "log", "a"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, env=clean_environment())
        self.assertEqual(done.returncode, 12)
        self.assertIn(b"pal: no_space: ", done.stderr)

    def test_stored_text_cannot_drive_the_terminal(self):
        evil = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202eabc \x7f"
        self.ok("append", "a", "--title", evil, "--owner", evil, stdin=json.dumps(
            {"role": "user", "content": evil}))
        for words in (["log", "a"], ["view", "a"], ["list"], ["show", "a"]):
            out = self.ok(*words).out
            self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", " ".join(words))
            self.assertIn("\\x1b", out)

    def test_colour_only_on_a_terminal(self):
        self.say("a", "one")
        script = ["script", "-qec", f"{PROGRAM} view a", "/dev/null"]
        if subprocess.run(["which", "script"], capture_output=True).returncode != 0:
            self.skipTest("the program `script` is not here")
        run = {"cwd": self.folder, "capture_output": True, "stdin": subprocess.DEVNULL}
        colour = clean_environment({"TERM": "xterm"})
        self.assertIn(b"\x1b[1m", subprocess.run(script, env=colour, **run).stdout)
        plain = clean_environment({"TERM": "xterm", "NO_COLOR": "1"})
        self.assertNotIn(b"\x1b[", subprocess.run(script, env=plain, **run).stdout)

    def test_commands_side_by_side_wait_for_each_other(self):
        processes = [subprocess.Popen([PROGRAM, "append", "a"], cwd=self.folder,
                                      env=clean_environment(), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE) for _ in range(6)]
        ends = sorted(int(p.communicate(HELLO.encode(), timeout=60)[0]) for p in processes)
        self.assertEqual(ends, [1, 2, 3, 4, 5, 6])


if __name__ == "__main__":
    main()
