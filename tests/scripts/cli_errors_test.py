"""What `pal` says and how it exits when something is wrong with what it was given."""
import json
import os
import sqlite3
import subprocess

from pal_run import PROGRAM, PalTest, clean_environment, main

HELLO = '{"role":"user","content":"Hello"}'


class WordsOfTheCommandLine(PalTest):
    def test_an_unknown_command_names_the_nearest(self):
        self.assertIn("did you mean append?", self.fails(2, "invalid_request", "apend", "a"))
        self.assertIn("`pal help` lists them", self.fails(2, "invalid_request", "zzzzzzzz"))

    def test_an_unknown_flag_names_the_nearest(self):
        self.assertIn("did you mean --format?",
                      self.fails(2, "invalid_request", "append", "a", "--fromat", "x"))
        self.assertIn("there is no flag --x", self.fails(2, "invalid_request", "view", "a", "-x"))
        self.fails(2, "invalid_request", "view", "a", "--" + "y" * 10_000)

    def test_a_flag_needs_its_value_once(self):
        self.assertIn("--at needs a value", self.fails(2, "invalid_request", "view", "a", "--at"))
        self.assertIn("twice", self.fails(2, "invalid_request", "view", "a", "--at=1", "--at=2"))

    def test_a_text_that_is_not_utf8_is_refused_and_nothing_is_written(self):
        self.ok("append", "a", stdin=HELLO)
        for words in (("append", "a", "--meta", b"k=\xff"), ("append", "a", "--key", b"\xff"),
                      ("checkpoint", "a", "c", "--meta", b"k=\xff")):
            done = self.pal(*words, stdin=HELLO)
            self.assertEqual(done.status, 2, done.err)
            self.assertIn("is not UTF-8", done.err)
        self.assertIn("is not UTF-8", self.pal("chat", "a", stdin=b"\xff\xfe\n").err)
        self.assertEqual(len(self.ok("log", "a").out.splitlines()), 1)

    def test_an_empty_key_is_not_taken_for_none(self):
        self.assertIn("--key is empty",
                      self.fails(2, "invalid_request", "append", "a", "--key", "", stdin=HELLO))

    def test_too_few_and_too_many_arguments(self):
        self.assertIn("pal view takes ID", self.fails(2, "invalid_request", "view"))
        self.fails(2, "invalid_request", "view", "a", "b")
        self.fails(2, "invalid_request", "scrub", "a")
        self.fails(2, "invalid_request", "list", "a")

    def test_no_words_at_all_prints_help_and_fails(self):
        done = self.pal()
        self.assertEqual((done.status, done.out), (2, ""))
        self.assertIn("usage: pal COMMAND", done.err)

    def test_a_setting_without_its_value_and_without_a_command(self):
        self.assertIn("--store needs a value", self.fails(2, "invalid_request", "list", "--store"))
        self.assertNotEqual(self.pal("--store").status, 0)

    def test_words_after_two_dashes_are_no_flags(self):
        self.ok("append", "--", "--odd", stdin=HELLO)
        self.assertEqual(self.ok("show", "--json", "--", "--odd").json()["id"], "--odd")

    def test_numbers_are_numbers(self):
        self.say("a", "one")
        for words in (["view", "a", "--at", "x"], ["view", "a", "--at", "-1"], ["pin", "a", "0"],
                      ["pin", "a", "first"], ["undo", "a", "1.5"], ["retract", "a", "2..1"],
                      ["retract", "a", "1.."], ["scrub", "a", "1", "x"],
                      ["view", "a", "--at", "99999999999999999999"], ["log", "a", "--last", "ten"],
                      ["append", "a", "--expect", ""]):
            self.fails(2, "invalid_request", *words, stdin=HELLO)

    def test_choices_name_what_is_allowed(self):
        self.say("a", "one")
        self.assertIn("openai_responses", self.fails(2, "invalid_request", "append", "a",
                                                     "--format", "gpt", stdin=HELLO))
        self.assertIn("created, updated or accessed",
                      self.fails(2, "invalid_request", "list", "--sort", "size"))
        self.assertIn("checkpoint", self.fails(2, "invalid_request", "log", "a", "--kind", "x"))
        self.fails(2, "invalid_request", "list", "--meta", "novalue")
        self.fails(2, "invalid_request", "append", "a", "--ttl", "soon", stdin=HELLO)

    def test_completion_is_for_bash(self):
        self.fails(2, "invalid_request", "completion", "tcsh")


class Settings(PalTest):
    def test_the_file_is_named_with_the_line(self):
        self.write("palimpsest.toml", "\ntennant = 'x'\n")
        self.assertIn('palimpsest.toml line 2: there is no setting "tennant"; did you mean tenant?',
                      self.fails(2, "invalid_request", "list"))

    def test_a_missing_or_broken_file(self):
        self.fails(2, "invalid_request", "list", "--config", "none.toml")
        self.fails(2, "invalid_request", "list", "--config", self.folder)
        self.fails(2, "invalid_request", "list", "--config", self.write("x.toml", "= 1"))
        self.fails(2, "invalid_request", "list", "--config", self.write("y.toml", b"\xff\x00"))

    def test_bad_values(self):
        self.fails(2, "invalid_request", "list", env={"PAL_MESSAGE_BYTES_MAX": "lots"})
        self.fails(2, "invalid_request", "list", "--store", "nosuch:thing")
        self.fails(2, "invalid_request", "list", "--store", "palimpsest.db")
        self.fails(2, "invalid_request", "serve", "--listen", "here")
        self.fails(2, "invalid_request", "chat", "a", "--model", "gpt")

    def test_serve_only_on_loopback(self):
        self.fails(3, "forbidden", "serve", "--listen", "0.0.0.0:0")


class Stores(PalTest):
    def test_reading_does_not_create_a_store(self):
        for command in (["list"], ["view", "a"], ["doctor"]):
            self.fails(4, "not_found", *command)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_folder_that_is_not_there(self):
        self.fails(4, "not_found", "append", "a", "--store", "sqlite:none/x.db", stdin=HELLO)
        self.write("file", "text")
        self.fails(2, "invalid_request", "append", "a", "--store", "sqlite:file/x.db", stdin=HELLO)

    def test_a_folder(self):
        message = self.fails(2, "invalid_request", "append", "a", "--store",
                             f"sqlite:{self.folder}", stdin=HELLO)
        self.assertIn("is not a file", message)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_database_of_somebody_else(self):
        with sqlite3.connect(self.path("palimpsest.db")) as other:
            other.execute("CREATE TABLE t(x)")
        other.close()
        message = self.fails(2, "invalid_request", "append", "a", stdin=HELLO)
        self.assertIn("not a Palimpsest store", message)

    def test_what_may_not_be_opened(self):
        self.say("a", "one")
        user = 65534 if os.geteuid() == 0 else None  # root may open everything
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("palimpsest.db"), 0o000)
        done = subprocess.run([PROGRAM, "list"], cwd=self.folder, env=clean_environment(),
                              user=user, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr.decode(), r"\Apal: forbidden: .*Permission denied")

    def test_a_file_that_is_no_database(self):
        self.write("palimpsest.db", "this is a text " * 1000)
        self.assertIn("not an SQLite database", self.fails(2, "invalid_request", "list"))
        with open(self.path("palimpsest.db")) as file:
            self.assertTrue(file.read().startswith("this is a text"), "left as it was")


class Input(PalTest):
    def test_files(self):
        self.fails(4, "not_found", "append", "a", "none.json")
        self.fails(2, "invalid_request", "append", "a", self.folder)
        self.fails(4, "not_found", "compact", "a", "--policy", "none.json")

    def test_json_that_is_none(self):
        bad = ['', ' \n', '{"role":"user","content":"x"', '[', 'nothing', '{"role":"user"}x',
               '{"role":"user","content":"a\x00b"}', '{"role":"user","content":"\x01"}',
               b'{"role":"user","content":"\xff\xfe"}', b'\x00', '{"role":"user","role":"user"}',
               '\ufeff' + HELLO]
        for text in bad:
            self.fails(2, "invalid_request", "append", "a", stdin=text)
        self.fails(4, "not_found", "show", "a")

    def test_json_of_the_wrong_shape(self):
        for text in ('1', '"text"', 'null', '[1]', '[[]]', '{"content":"no role"}',
                     '{"role":1,"content":"x"}', '{"role":"user","content":7}',
                     '{"at":"yesterday","message":' + HELLO + '}', '{"at":1,"message":{}}'):
            self.fails(2, "invalid_request", "append", "a", stdin=text)
        self.fails(4, "not_found", "show", "a")

    def test_lines_name_the_bad_one_and_nothing_is_appended(self):
        message = self.fails(2, "invalid_request", "append", "a", stdin=f"{HELLO}\n{HELLO}\n{{\n")
        self.assertIn("line 3", message)
        self.fails(4, "not_found", "show", "a")

    def test_deep_nesting_is_refused(self):
        deep = "[" * 100_000 + "]" * 100_000
        self.fails(2, "invalid_request", "append", "a", stdin=deep)
        self.fails(2, "invalid_request", "append", "a",
                   stdin='{"role":"user","content":' + deep + "}")
        self.say("a", "one")
        self.fails(2, "invalid_request", "compact", "a", "--policy", '{"passes":' + deep[:50_000])

    def test_a_message_over_the_limit(self):
        large = json.dumps({"role": "user", "content": "x" * 5000})
        self.fails(6, "too_large", "append", "a", "--message-bytes-max", "4KiB", stdin=large)
        self.ok("append", "a", "--message-bytes-max", "8KiB", stdin=large)

    def test_ids(self):
        for bad in ("", "x" * 10_000, "a\nb", "a\x1b[31m", ".", "..", "../a", "a/../b", "\udcff\udcfe"):
            self.fails(2, "invalid_request", "append", bad, stdin=HELLO)
            self.fails(2, "invalid_request", "append", "a", "--tenant", bad or ".", stdin=HELLO)
        for good in ("/a", "a/b", "x" * 255, "ä", "a b", "%00", "'; drop table"):
            self.ok("append", good, stdin=HELLO)
            self.assertEqual(self.ok("show", "--json", "--", good).json()["id"], good)

    def test_what_is_not_there(self):
        self.say("a", "one")
        for words in (["view", "b"], ["log", "b"], ["show", "b"], ["erase", "b"], ["pin", "b", "1"],
                      ["undo", "b"], ["fork", "b", "c"], ["checkpoint", "b", "x"],
                      ["checkpoints", "b"], ["retract", "b", "1"], ["scrub", "b", "1"],
                      ["undo", "a"], ["help", "nothing"]):
            self.fails(4, "not_found", *words)
        self.assertIn('no conversation "b"; `pal list` shows',
                      self.fails(4, "not_found", "view", "b"))
        for words in (["pin", "a", "99"], ["retract", "a", "99"], ["scrub", "a", "99"],
                      ["undo", "a", "99"], ["view", "a", "--at", "99"], ["undo", "a", "1"]):
            done = self.pal(*words)
            self.assertIn(done.status, (2, 4), " ".join(words) + done.err)

    def test_policies(self):
        self.say("a", "one")
        for policy in ('{"mode":"no such"}', '{"passes":[{"pass":"no such"}]}', '{"unknown":1}',
                       '{"passes":7}', '{'):
            self.fails(2, "invalid_request", "compact", "a", "--policy", policy)

    def test_the_field_of_a_policy_that_is_to_blame_is_named_once(self):
        self.say("a", "one")
        file = self.write("f.json", "[" + HELLO + "]")
        shorten = '"target":1,"passes":[{"pass":"shorten"}]'
        for policy, told in (
                ('{"triggers":{"any":[{"tokens":3},7]},' + shorten + "}",
                 'triggers.any[1]: a trigger is an object, as in {"tokens": 32000}; it is 7'),
                ('{"triggers":{"any":[""]},' + shorten + "}",
                 'triggers.any[0]: a trigger is an object, as in {"tokens": 32000}; it is ""'),
                ('{"passes":[{"pass":"summarize","from":"x"}]}',
                 "passes[0].from: 'x' is not an RFC 3339 time; "),
                ('{"passes":[{"pass":"summarize","max_tokens":"x"}]}',
                 '"passes[0].max_tokens" must be ')):
            for words in (["a"], ["--format", "openai_chat", file]):
                self.assertTrue(self.fails(2, "invalid_request", "compact", "--policy", policy,
                                           *words).startswith("pal: invalid_request: " + told), told)

    def test_a_parameter_that_the_words_name_is_not_named_again(self):
        self.assertIn("invalid_request: conversation_id is empty",
                      self.fails(2, "invalid_request", "append", "", stdin=HELLO))
        self.assertIn("invalid_request: --key is empty",
                      self.fails(2, "invalid_request", "append", "a", "--key", "", stdin=HELLO))
        self.assertIn("invalid_request: config: cannot read the settings file",
                      self.fails(2, "invalid_request", "list", "--config", "none.toml"))


class Json(PalTest):
    def test_errors_are_the_http_object(self):
        self.say("a", "one")
        done = self.pal("view", "b", "--json")
        self.assertEqual((done.status, done.out), (4, ""))
        error = json.loads(done.err)["error"]
        self.assertEqual(list(error), ["type", "code", "message", "param"])
        self.assertEqual((error["type"], error["code"]), ("not_found", "not_found"))

    def test_also_for_words_that_cannot_be_read(self):
        for words, env in ((["--json", "nothing"], None), (["view", "--json"], None),
                           (["view"], {"PAL_JSON": "1"}), (["view", "a", "--x", "--json"], None)):
            done = self.pal(*words, env=env)
            self.assertEqual(json.loads(done.err)["error"]["code"], "invalid_request")
            self.assertEqual(done.status, 2)


if __name__ == "__main__":
    main()
