"""A store as a whole, from outside: export, import, copy, backup, keys, erase, doctor, on each
store that lies in files; the seeds' own formats; encryption."""
import json
import os
import sqlite3
import subprocess
import time

from pal_run import PROGRAM, PalTest, clean_environment, main, start_server

KINDS = ["sqlite", "files"]
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]}
CHAT = [{"role": "user", "content": "Hello"}, CALL,
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "assistant", "content": "There."}]


class Store(PalTest):
    def store(self, kind, name="store"):
        return f"{kind}:{self.path(name)}"

    def on_disk(self, text):
        for folder, _, files in os.walk(self.folder):
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    if text.encode() in file.read():
                        return True
        return False

    def fill(self, url, *extra):
        self.ok("append", "a", "--store", url, *extra, "--owner", "ann", "--title", "First",
                "--meta", "k=v", stdin=json.dumps(CHAT))
        self.ok("pin", "a", "1", "--store", url, *extra)
        self.ok("fork", "a", "b", "--store", url, *extra)

    def in_shell(self, command, *words, stdin=b""):
        return subprocess.run(["sh", "-c", command, PROGRAM, *words], cwd=self.folder, input=stdin,
                              capture_output=True, env=clean_environment(), timeout=60)

    def test_nothing_is_printed_into_a_store_when_the_standard_streams_are_closed(self):
        for kind in KINDS:
            url = self.store(kind, "closed_" + kind)
            self.fill(url)
            for closed in ("<&- >&- 2>&-", "<&- >&-", "2>&-"):
                self.in_shell(f'"$0" "$@" {closed}', "list", "--store", url)
                self.in_shell(f'"$0" "$@" {closed}', "show", "nobody", "--store", url)
            self.assertIn("nothing is wrong", self.ok("doctor", "--store", url).out)
            self.assertEqual(len(self.ok("list", "--json", "--store", url).lines()), 2)

    def test_a_limit_on_the_size_of_files_is_a_full_disk(self):
        for kind in KINDS:
            url = self.store(kind, "limited_" + kind)
            self.fill(url)
            large = json.dumps({"role": "user", "content": "x" * 2_000_000}).encode()
            done = self.in_shell('ulimit -f 1000; exec "$0" "$@"', "append", "a", "--store", url, stdin=large)
            self.assertEqual(done.returncode, 12, done.stderr)
            self.assertIn(b"pal: no_space: ", done.stderr)
            self.assertEqual(self.ok("append", "a", "--store", url, stdin=large).out, "6\n")

    def test_an_export_with_a_gap_is_refused(self):
        self.ok("append", "a", "--ttl", "90d", stdin=json.dumps(CHAT))
        lines = self.ok("export", "a").out.splitlines(keepends=True)
        target = self.store("sqlite", "target")
        for name, kept, told in (("gap", lines[:2] + lines[3:], "line 3: seq 2 is expected here, not 3"),
                                 ("short", lines[:-1], "it ends with seq 3 of 4")):
            file = self.write(name, "".join(kept))
            self.assertIn(told, self.fails(2, "invalid_request", "import", file, "--store", target))
        self.ok("import", self.write("whole", "".join(lines)), "--store", target)
        self.assertEqual(self.ok("show", "a", "--json", "--store", target).json()["ttl_ms"], 90 * 86400000)

    def test_what_is_exported_comes_back_the_same(self):
        for kind in KINDS:
            url = self.store(kind, "from_" + kind)
            self.fill(url)
            self.ok("append", "a", "--store", url, stdin='{"role":"user",\n "content":"two lines"}')
            text = self.ok("export", "a", "--store", url).out
            file = self.write("a.jsonl", text)
            target = self.store(kind, "to_" + kind)
            self.assertEqual(self.ok("import", file, "--store", target).out, "a\n")
            again = self.ok("export", "a", "--store", target).out
            plain = [json.loads(line) for line in text.splitlines()]
            back = [json.loads(line) for line in again.splitlines()]
            self.assertEqual(plain[1:], back[1:])
            for field in ("title", "owner", "metadata", "created_at", "updated_at"):
                self.assertEqual(plain[0]["conversation"][field], back[0]["conversation"][field])
            self.assertEqual(self.pal("import", file, "--store", target).status, 5)

    def test_a_policy_comes_back_from_an_export_and_a_copy_in_any_of_its_forms(self):
        url, copied = self.store("sqlite"), self.store("files", "copied")
        for name, policy in (("name", '"balanced"'), ("object", '{"mode":"trim","max_user_turns":3}'),
                             ("none", "null")):
            self.ok("append", name, "--store", url, stdin=json.dumps(CHAT[0]))
            text = self.ok("export", name, "--store", url).out
            file = self.write("1.jsonl", text.replace('"policy":null', '"policy":' + policy))
            self.ok("import", file, "--id", name + "1", "--store", url)
            file = self.write("2.jsonl", self.ok("export", name + "1", "--store", url).out)
            self.ok("import", file, "--id", name + "2", "--store", url)
            self.ok("copy", "--store", url, "--to", copied)
            for where in (url, copied):
                shown = self.ok("show", name + "2", "--json", "--store", where).out
                self.assertIn(f'"policy":{policy},', shown)

    def test_a_copy_into_another_kind_of_store_and_back(self):
        self.fill(self.store("sqlite"))
        first = self.ok("copy", "--store", self.store("sqlite"), "--to", self.store("files", "f"))
        self.assertEqual(first.out, "copied 2 conversations, 5 entries, 0 records; 0 were there "
                                    "already\n")
        again = self.ok("copy", "--store", self.store("sqlite"), "--to", self.store("files", "f"))
        self.assertIn("copied 0 conversations", again.out)
        self.ok("copy", "--store", self.store("files", "f"), "--to", self.store("sqlite", "back"))
        for name in ("a", "b"):
            self.assertEqual(self.ok("log", name, "--json", "--store", self.store("sqlite")).out,
                             self.ok("log", name, "--json", "--store", self.store("sqlite", "back")).out)
        self.fails(2, "invalid_request", "copy", "--store", self.store("sqlite"))

    def test_a_copy_goes_on_behind_what_is_damaged_or_taken(self):
        source, target = self.store("files", "f"), self.store("sqlite", "t")
        for name in ("a", "b", "c", "d"):
            lines = [json.dumps({"role": "user", "content": f"{name}{i} MARK"}) for i in range(4)]
            self.ok("append", name, "--store", source, stdin="\n".join(lines))
        self.ok("fork", "b", "e", "--store", source)
        self.ok("append", "e", "--store", source, stdin=json.dumps(CHAT[0]))
        for folder, _, names in os.walk(self.path("f")):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    data = file.read()
                if b"b2 MARK" in data:
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(data.replace(b"b2 MARK", b"b2 MURK"))
        self.ok("append", "c", "--store", target, stdin=json.dumps(CHAT[0]))
        mine = self.ok("show", "c", "--json", "--store", target).out
        for _ in range(2):
            done = self.pal("copy", "--json", "--store", source, "--to", target)
            self.assertEqual(done.status, 70, done.err)
            self.assertIn("1 could not be copied whole, 1 in conflict", done.err)
            report = json.loads(done.out)
            failed = {row["what"]: row for row in report["failures"]}
            self.assertEqual(sorted(failed), ["b", "c"])
            self.assertEqual((failed["b"]["copied_to"], failed["b"]["end"], failed["b"]["lost"]), (4, 4, [3]))
            self.assertEqual(failed["b"]["code"], "internal")
            self.assertEqual((failed["c"]["code"], failed["c"]["there"]), ("conflict", False))
            self.assertEqual(report["conflicts"], 1)
        for name, entries in (("a", 4), ("b", 4), ("c", 1), ("d", 4), ("e", 5)):
            log = self.ok("log", name, "--json", "--store", target).lines()
            self.assertEqual(len(log), entries, name)
        shown = self.ok("view", "e", "--store", target).out
        self.assertIn("b3 MARK", shown)
        self.assertNotIn("b2 M", shown)
        self.assertEqual(self.ok("show", "c", "--json", "--store", target).out, mine)

    def test_a_copy_of_a_store_that_misses_an_entry_has_the_others_and_the_fork(self):
        source, target = self.store("sqlite", "s.db"), self.store("files", "t")
        self.ok("append", "d1", "--store", source, stdin=json.dumps(CHAT * 2))
        self.ok("fork", "d1", "d3", "--store", source)
        self.ok("append", "d3", "--store", source, stdin=json.dumps({"role": "user", "content": "own"}))
        database = sqlite3.connect(self.path("s.db"))
        database.execute("delete from entry where seq in (3, 8)")
        database.commit()
        database.close()
        done = self.pal("copy", "--store", source, "--to", target)
        self.assertEqual(done.status, 70, done.err)
        self.assertIn("not whole: d1: the target has it up to entry 7 of 8, without entries 3, 8", done.out)
        self.assertIn("not copied: d3: it was forked at entry 8 of a conversation that could not be copied so far", done.out)
        self.assertEqual([e["seq"] for e in self.ok("log", "d1", "--json", "--store", target).lines()], list(range(1, 8)))

    def test_a_copy_again_brings_scrubs_fields_and_revoked_keys(self):
        source, target = self.store("sqlite", "s.db"), self.store("files", "t")
        for name in ("a", "b"):
            self.ok("append", name, "--store", source, stdin=json.dumps(
                [{"role": "user", "content": "the cormorant sings"}, {"role": "assistant", "content": "It does."}]))
        self.ok("keys", "create", "laptop", "--store", source)
        key = self.ok("keys", "list", "--json", "--store", source).lines()[0]["id"]
        first = self.ok("copy", "--store", source, "--to", target)
        self.assertIn("1 client keys were not copied: --all-tenants copies them", first.out)
        again = ["copy", "--all-tenants", "--store", source, "--to", target]
        self.assertNotIn("were not copied", self.ok(*again).out)
        self.assertEqual([k["id"] for k in self.ok("keys", "list", "--json", "--store", target).lines()], [key])
        self.ok("search", "cormorant", "--store", target)
        self.ok("scrub", "a", "1", "--store", source)
        self.ok("keys", "revoke", key, "--store", source)
        self.ok("append", "b", "--title", "Birds", "--store", source, stdin="[]")
        for store in (source, target):
            self.ok("append", "b", "--store", store, stdin=json.dumps({"role": "user", "content": store}))
        done = self.pal(*again)
        self.assertEqual(done.status, 5, done.err)
        self.assertIn("1 messages that were scrubbed in the source are scrubbed now", done.out)
        self.assertIn("1 keys that were revoked in the source are revoked now", done.out)
        self.assertIn("conflict: b: entry 3 is another one in the target", done.out)
        self.assertIn("1 in conflict", done.err)
        self.assertEqual(self.ok("keys", "list", "--json", "--store", target).out, "")
        self.assertNotIn("cormorant", self.ok("log", "a", "--store", target).out)
        self.ok("erase", "b", "--store", target)
        self.assertEqual(self.files_with(b"cormorant"), ["s.db"])
        self.assertIn("0 records", self.ok(*again).out)
        self.assertEqual(self.ok("show", "b", "--json", "--store", target).json()["title"], "Birds")

    def test_a_backup_of_a_store_that_a_server_holds(self):
        for kind in KINDS:
            url = self.store(kind, "live_" + kind)
            self.fill(url)
            start_server(self, "--store", url)
            path = self.path("backup_" + kind)
            self.ok("backup", path, "--store", url)
            self.ok("append", "a", "--store", url, stdin=json.dumps(CHAT[0]))
            self.assertEqual(len(self.ok("log", "a", "--json", "--store", f"{kind}:{path}").lines()), 5)
            self.fails(5, "conflict", "backup", path, "--store", url)
            self.assertIn("nothing is wrong", self.ok("doctor", "--store", f"{kind}:{path}").out)

    def test_an_encrypted_store_shows_nothing_and_needs_its_key(self):
        self.ok("keys", "new", self.path("k1"))
        self.fails(5, "conflict", "keys", "new", self.path("k1"))
        self.ok("keys", "new", self.path("k2"))
        for kind in KINDS:
            url, key = self.store(kind, kind), ["--encryption-key", "file:" + self.path("k1")]
            secret = [{"role": "user", "content": "CANARY-7"}]
            self.ok("append", "a", "--store", url, *key, "--title", "CANARY-7", stdin=json.dumps(secret))
            self.assertFalse(self.on_disk("CANARY-7"))
            self.assertEqual(self.ok("show", "a", "--json", "--store", url, *key).json()["title"], "CANARY-7")
            self.fails(3, "forbidden", "log", "a", "--store", url)
            self.fails(3, "forbidden", "erase", "a", "--store", url, "--encryption-key", "file:" + self.path("k2"))
            self.fails(2, "invalid_request", "keys", "rotate", "--store", url, *key, "--to", key[1])
            self.ok("keys", "rotate", "--store", url, *key, "--to", "file:" + self.path("k2"))
            self.fails(3, "forbidden", "log", "a", "--store", url, *key)
            new = ["--encryption-key", "file:" + self.path("k2")]
            self.assertIn("CANARY-7", self.ok("log", "a", "--store", url, *new).out)
            self.assertIn("AES-256-GCM", self.ok("doctor", "--store", url, *new).out)
            self.ok("erase", "a", "--store", url, *new)

    def test_a_lost_key_costs_its_own_conversation_alone(self):
        self.ok("keys", "new", self.path("k"))
        url, key = self.store("sqlite"), ["--encryption-key", "file:" + self.path("k")]
        for name in ("a", "b"):
            self.ok("append", name, "--store", url, *key, "--title", name,
                    stdin=json.dumps({"role": "user", "content": "apples of " + name}))
            if name == "a":
                with sqlite3.connect(self.path("store")) as file:
                    uid, = [row[0] for row in file.execute("SELECT key FROM record WHERE space = 'pal.key'"
                                                           " AND key <> 'store'")]
        with sqlite3.connect(self.path("store")) as file:
            file.execute("DELETE FROM record WHERE key = ?", (uid,))
        rows = self.ok("list", "--json", "--store", url, *key).lines()
        self.assertEqual(sorted(row["id"] for row in rows), ["a", "b"])
        found = self.pal("search", "apples", "--store", url, *key)
        self.assertEqual(found.status, 0, found.err)
        self.assertIn("of b", found.out)
        self.assertIn("left out, because they cannot be read (`pal doctor` says why): a\n", found.err)
        self.assertIn("look further: pal log --store " + url + " --encryption-key " + key[1] + " b", found.out)
        self.fails(3, "forbidden", "search", "apples", "--in", "a", "--store", url, *key)
        self.assertIn("sealed: a: the key of log", self.pal("doctor", "--store", url, *key).out)
        erased = self.ok("erase", "a", "--store", url, *key).out
        self.assertIn("what may still have it: backups and copies that were made before; all of that is sealed", erased)
        self.assertIn("nothing is wrong", self.ok("doctor", "--store", url, *key).out)

    def test_a_plain_store_is_copied_into_an_encrypted_one(self):
        self.ok("keys", "new", self.path("k"))
        self.fill(self.store("files", "plain"))
        self.ok("copy", "--store", self.store("files", "plain"), "--to", self.store("files", "sealed"),
                "--to-encryption-key", "file:" + self.path("k"))
        self.assertEqual(len(self.ok("log", "b", "--json", "--store", self.store("files", "sealed"),
                                     "--encryption-key", "file:" + self.path("k")).lines()), 5)

    def test_an_owner_without_a_name_is_refused(self):
        url = self.store("files")
        self.ok("append", "a", "--store", url, stdin=json.dumps(CHAT[0]))
        error = self.fails(2, "invalid_request", "erase", "--owner", "", "--store", url)
        self.assertIn("no owner", error)
        self.assertIn("--older-than", error)
        self.ok("show", "a", "--store", url)

    def test_erase_by_owner_and_by_age(self):
        for kind in KINDS:
            url = self.store(kind, kind)
            for name, owner in (("a", "ann"), ("b", "bob"), ("c", "ann")):
                self.ok("append", name, "--owner", owner, "--store", url, stdin=json.dumps(CHAT[0]))
            would = self.ok("erase", "--owner", "ann", "--dry-run", "--store", url).out
            self.assertEqual(sorted(would.split()), ["a", "c"])
            done = self.ok("erase", "--owner", "ann", "--json", "--store", url).lines()
            self.assertEqual([r["entries"] for r in done], [1, 1])
            self.assertEqual(sorted(r["id"] for r in done), ["a", "c"])
            self.assertIn("search index", str(done[0]["gone_with_it"]))
            self.assertTrue(done[0]["remains"])
            self.assertEqual(self.ok("erase", "--older-than", "1h", "--store", url).out, "")
            self.assertEqual([h["id"] for h in self.ok("list", "--json", "--store", url).lines()], ["b"])
            self.ok("erase", "--older-than", "1ms", "--store", url)
            self.assertEqual(self.ok("list", "--json", "--store", url).out, "")
        self.fails(2, "invalid_request", "erase", "--store", self.store("files"))

    def files_with(self, word):
        found = []
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found += [name] if word in file.read() else []
        return found

    def test_what_has_expired_can_be_removed_at_once(self):
        for kind in KINDS:
            url = self.store(kind, kind)
            secret = {"role": "user", "content": "the cormorant sings"}
            self.ok("append", "a", "--ttl", "1ms", "--store", url, stdin=json.dumps(secret))
            self.ok("append", "b", "--store", url, stdin=json.dumps(CHAT[0]))
            time.sleep(0.01)
            self.assertIn("--expired", self.fails(4, "not_found", "erase", "a", "--store", url))
            self.ok("erase", "--expired", "--store", url)
            self.assertEqual(self.ok("erase", "--expired", "--json", "--store", url).lines(), [{"expired": 0}])
            self.assertEqual(self.files_with(b"cormorant"), [])
            self.assertEqual([h["id"] for h in self.ok("list", "--json", "--store", url).lines()], ["b"])
        self.fails(2, "invalid_request", "erase", "b", "--expired", "--store", self.store("files"))

    def test_doctor_repairs_what_is_safe(self):
        url = self.store("files")
        self.fill(url)
        stray = self.path("store/logs/00")
        os.makedirs(stray, exist_ok=True)
        open(os.path.join(stray, "0" * 32 + ".1.log"), "w").close()
        found = self.pal("doctor", "--store", url)
        self.assertEqual(found.status, 1)
        self.assertIn("stray", found.out)
        self.assertIn("nothing is wrong", self.ok("doctor", "--repair", "--store", url).out)


class Foreign(PalTest):
    """The seeds' own formats, there and back."""

    def round_trip(self, kind, text, messages):
        name = "x_" + kind
        done = self.pal("import", self.write(name, text), "--id", name)
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(len(self.ok("log", name, "--json", "--kind", "message").lines()), messages, kind)
        out = self.pal("export", name, "--as", kind)
        self.assertEqual(out.status, 0, out.err)
        again = self.pal("import", self.write(name + "2", out.out), "--from", kind, "--id", name + "2")
        self.assertEqual(again.status, 0, again.err)
        self.assertEqual(len(self.ok("log", name + "2", "--json", "--kind", "message").lines()), messages, kind)
        return out.out

    def test_goaitools(self):
        out = self.round_trip("goaitools", json.dumps(
            {"version": 1, "provider": "openai", "processed_length": 4, "messages": CHAT}), 4)
        self.assertEqual(json.loads(out)["messages"], CHAT)
        bad = self.write("bad", json.dumps({"version": 2, "provider": "openai", "messages": []}))
        self.fails(2, "invalid_request", "import", bad)

    def test_a_byte_order_mark_in_front_is_no_part_of_the_text(self):
        self.ok("import", self.write("marked", "\ufeff" + json.dumps(CHAT)), "--id", "chat")
        own = self.ok("export", "chat").out
        self.ok("import", self.write("own", "\ufeff" + own), "--id", "own")
        self.assertEqual(self.ok("view", "own").out, self.ok("view", "chat").out)

    def test_a_session_file_without_a_session_makes_no_conversation(self):
        for kind in ("codex", "claude_code"):
            for text in ("", "{}"):
                told = self.fails(2, "invalid_request", "import", self.write("x", text), "--from", kind)
                self.assertIn("nothing of a session", told)
        self.fails(4, "not_found", "show", "x")

    def test_ailoop_keeps_pins(self):
        snapshot = {"version": 1, "pinned": [True, False, False], "messages": [
            {"User": {"blocks": [{"Text": {"text": "Hello"}}]}},
            {"Assistant": {"blocks": [{"ToolCall": {"call_id": "c1", "name": "look", "args": {"at": 1}}}]}},
            {"User": {"blocks": [{"ToolResult": {"call_id": "c1", "content": {
                "blocks": [{"type": "text", "text": "seen"}]}}}]}}]}
        self.assertEqual(json.loads(self.round_trip("ailoop", json.dumps(snapshot), 3)), snapshot)

    def test_promptkit_as_one_value_in_parts_and_as_a_folder(self):
        messages = [{"role": "user", "content": "Hello", "timestamp": "2026-01-02T03:04:05Z"},
                    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "look", "args": {"at": 1}}]},
                    {"role": "tool", "content": "seen", "tool_result": {"id": "c1", "name": "look", "parts": [
                        {"type": "text", "text": "seen"}]}},
                    {"role": "assistant", "content": "There."}]
        state = {"id": "p", "user_id": "ann", "system_prompt": "Be brief.", "messages": messages,
                 "metadata": {"k": "v"}}
        out = json.loads(self.round_trip("promptkit", json.dumps(state), 4))
        self.assertEqual([m["role"] for m in out["messages"]], ["user", "assistant", "tool", "assistant"])
        self.assertEqual((out["user_id"], out["system_prompt"], out["metadata"]["k"]), ("ann", "Be brief.", "v"))
        meta = {key: state[key] for key in ("id", "user_id", "system_prompt")}
        parts = {"meta": meta, "messages": messages, "metadata": {"user.k": "\"v\""}}
        self.ok("import", self.write("parts", json.dumps(parts)), "--id", "parts")
        self.assertEqual(self.ok("show", "parts", "--json").json()["metadata"], {"k": "v"})
        os.makedirs(self.path("conv-p"))
        self.write("conv-p/state.json", json.dumps(meta))
        self.write("conv-p/messages.jsonl", "".join(json.dumps(m) + "\n" for m in messages))
        self.assertEqual(self.ok("import", "conv-p").out, "p\n")
        self.assertEqual(self.ok("log", "p", "--json").lines()[0]["at"], "2026-01-02T03:04:05.000Z")

    def test_a_folder_of_promptkit_is_written_and_read_whole(self):
        state = {"id": "p", "user_id": "ann", "system_prompt": "Be brief.", "messages": [
            {"role": "user", "content": "Hello"}], "metadata": {"k": "v"}}
        self.ok("import", self.write("state", json.dumps(state)))
        self.ok("import", self.write("state", json.dumps(state)), "--id", "q")
        for name in ("p", "q"):
            self.assertEqual(self.ok("export", name, "--as", "promptkit", "--to", "kit").out, "")
        with open(self.path("kit/conv-p/state.json")) as file:
            head = json.load(file)
        self.assertEqual((head["user_id"], head["metadata"]), ("ann", {"k": "v"}))
        self.fails(5, "conflict", "export", "p", "--to", "kit")
        self.fails(2, "invalid_request", "export", "p", "--as", "koog", "--to", "kit")
        os.makedirs(self.path("kit/conv-q/lists"))
        self.write("kit/conv-q/lists/notes.jsonl", "{}\n")
        with open(self.path("kit/conv-q/messages.jsonl"), "a") as file:
            file.write('{"role":"assis')
        other = "sqlite:" + self.path("other")
        done = self.pal("import", "kit", "--store", other)
        self.assertEqual((done.status, done.out), (0, "p\nq\n"), done.err)
        self.assertIn("q: not carried: the list notes of 1 items", done.err)
        self.assertIn("q: not carried: the last line of messages.jsonl: it is torn", done.err)
        self.assertEqual(self.ok("show", "q", "--json", "--store", other).json()["metadata"], {"k": "v"})

    def test_what_is_there_already_does_not_stop_the_others(self):
        for name in ("p", "q", "r"):
            state = {"id": name, "user_id": "ann", "messages": [{"role": "user", "content": "Hello"}]}
            os.makedirs(self.path(f"kit/conv-{name}"))
            self.write(f"kit/conv-{name}/state.json", json.dumps(state))
            self.write(f"kit/conv-{name}/messages.jsonl", json.dumps(state["messages"][0]) + "\n")
        self.assertEqual(self.ok("import", "kit/conv-p").out, "p\n")
        done = self.pal("import", "kit")
        self.assertEqual((done.status, done.out), (2, "q\nr\n"), done.err)
        self.assertIn("conv-p: not imported: it is there already", done.err)
        self.assertIn("1 of 3 conversations were not imported", done.err)
        files = [self.write(name, json.dumps(CHAT)) for name in ("x", "y")]
        self.ok("import", files[0])
        self.assertEqual(self.pal("import", *files).out, "y\n")
        self.assertIn("it is there already", self.fails(5, "conflict", "import", files[0]))

    def test_a_file_of_no_known_kind_asks_for_the_kind(self):
        told = self.fails(2, "invalid_request", "import", self.write("odd", '{"rows":[1,2]}'))
        self.assertIn("say --from KIND", told)

    def test_koog(self):
        info = {"timestamp": "2026-01-02T03:04:05Z"}
        checkpoint = {"checkpointId": "k1", "createdAt": "2026-01-02T03:04:05Z", "nodePath": "a/b", "version": 3,
                      "messageHistory": [
                          {"type": "User", "content": "Hello", "metaInfo": info},
                          {"type": "ToolCall", "id": "c1", "tool": "look", "content": "{\"at\":1}", "metaInfo": info},
                          {"type": "ToolResult", "id": "c1", "tool": "look", "content": "seen", "metaInfo": info},
                          {"type": "Assistant", "content": "There.", "metaInfo": info}]}
        out = json.loads(self.round_trip("koog", json.dumps(checkpoint), 4))
        self.assertEqual([m["type"] for m in out["messageHistory"]], ["User", "ToolCall", "ToolResult", "Assistant"])

    def test_claude_code_sessions_join_the_blocks_of_one_answer(self):
        at = "2026-01-02T03:04:05.000Z"
        lines = [{"type": "summary", "summary": "Looking", "leafUuid": "u"},
                 {"type": "user", "sessionId": "s", "timestamp": at, "message": {"role": "user", "content": "Hello"}},
                 {"type": "assistant", "sessionId": "s", "timestamp": at, "message": {
                     "id": "m1", "role": "assistant", "content": [{"type": "text", "text": "I look."}]}},
                 {"type": "assistant", "sessionId": "s", "timestamp": at, "message": {
                     "id": "m1", "role": "assistant", "content": [
                         {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]}},
                 {"type": "user", "sessionId": "s", "timestamp": at, "message": {"role": "user", "content": [
                     {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]}}]
        self.round_trip("claude_code", "\n".join(map(json.dumps, lines)) + "\n", 3)

    def test_codex_sessions(self):
        def item(payload):
            return {"timestamp": "2026-01-02T03:04:05.000Z", "type": "response_item", "payload": payload}
        lines = [{"timestamp": "2026-01-02T03:04:05.000Z", "type": "session_meta", "payload": {"id": "s"}},
                 item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}),
                 item({"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}),
                 item({"type": "function_call_output", "call_id": "c1", "output": "seen"}),
                 {"timestamp": "2026-01-02T03:04:05.000Z", "type": "event_msg", "payload": {"type": "token_count"}}]
        self.round_trip("codex", "\n".join(map(json.dumps, lines)) + "\n", 3)

    def test_lists_of_the_three_providers(self):
        self.round_trip("openai_chat", json.dumps(CHAT), 4)
        self.round_trip("anthropic", json.dumps(
            [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]}]), 3)
        self.round_trip("openai_responses", json.dumps(
            [{"type": "message", "role": "user", "content": "Hello"},
             {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
             {"type": "function_call_output", "call_id": "c1", "output": "seen"}]), 3)
        self.fails(2, "invalid_request", "export", "x_openai_chat", "--as", "nothing")


main()
