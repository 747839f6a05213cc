"""`pal doctor` on files that are damaged or no store: it says what is readable, and what is not."""
import json
import os
import sqlite3

from pal_run import PalTest, main

PAGE = 4096
NAMES = ("a", "b", "c", "d")


class Doctor(PalTest):
    def make_store(self, each=6, size=9000):
        """Four conversations, one after the other in the file."""
        for name in NAMES:
            lines = [json.dumps({"role": "user", "content": f"{name}{i}" + "x" * size})
                     for i in range(each)]
            self.ok("append", name, stdin="\n".join(lines))
        with open(self.path("palimpsest.db"), "rb") as file:
            return file.read()

    def doctor(self, data=None):
        """The findings as {what: {where: [messages]}}; the exit status is 1."""
        if data is not None:
            self.write("palimpsest.db", data)
        before = os.stat(self.path("palimpsest.db")).st_size
        done = self.pal("doctor")
        self.assertEqual((done.status, done.err), (1, ""), done.out)
        self.assertNotIn("pal doctor", done.out)
        report = self.pal("doctor", "--json").json()
        self.assertNotIn("pal doctor", json.dumps(report))
        self.assertEqual(os.stat(self.path("palimpsest.db")).st_size, before, "left as it was")
        found = {}
        for finding in report["findings"]:
            found.setdefault(finding["what"], {}).setdefault(finding["where"], []).append(
                finding["message"])
        return found

    def readable(self, found):
        return [name.split("/")[-1] for name in found.get("readable", {})]

    def test_a_whole_store_is_well(self):
        self.make_store()
        self.assertIn("nothing is wrong", self.ok("doctor").out)

    def test_without_its_last_page(self):
        data = self.make_store()
        found = self.doctor(data[:-PAGE])
        self.assertEqual(self.readable(found), ["a", "b", "c"])
        self.assertTrue(any(where.endswith("/d") for where in found["unreadable"]), found)

    def test_cut_inside_a_page(self):
        data = self.make_store()
        self.assertEqual(self.readable(self.doctor(data[:-100])), ["a", "b", "c"])

    def test_half_of_it(self):
        data = self.make_store(each=200, size=500)
        found = self.doctor(data[:len(data) // PAGE // 2 * PAGE])
        # The index of entries is in the half that is gone; the entries of the first are not.
        self.assertIn("all its 200 entries are there", str(found["recoverable"]["default/a"]))
        self.assertNotIn("default/a", found["damaged"])
        self.assertEqual(found["damaged"]["default/d"], ["0 of its 200 entries are there"])
        self.assertIn("of its 200 entries are there", str(found["damaged"]["default/b"]))

    def test_without_its_first_page(self):
        data = self.make_store()
        found = self.doctor(bytes(PAGE) + data[PAGE:])
        self.assertEqual(self.readable(found), list(NAMES))
        self.assertIn("the first page is damaged", str(found["damaged"]))

    def test_without_its_schema(self):
        data = self.make_store()
        found = self.doctor(data[:100] + bytes(PAGE - 100) + data[PAGE:])
        self.assertEqual(self.readable(found), list(NAMES))

    def test_a_fork_of_what_is_damaged_is_not_whole(self):
        self.make_store()
        self.ok("fork", "d", "e")
        with open(self.path("palimpsest.db"), "rb") as file:
            data = file.read()
        at = data.index(b"d5xxx")
        found = self.doctor(data[:at] + b"X" + data[at + 1:])
        self.assertEqual(self.readable(found), ["a", "b", "c"])
        self.assertIn("what it was forked from is damaged", str(found["damaged"]))

    def test_a_text_file(self):
        found = self.doctor("this is a text " * 3000)
        self.assertEqual(list(found), ["foreign"])
        self.assertIn("not an SQLite database", str(found))

    def test_a_database_of_somebody_else(self):
        with sqlite3.connect(self.path("palimpsest.db")) as other:
            other.execute("CREATE TABLE log(x)")
        other.close()
        found = self.doctor()
        self.assertEqual(list(found), ["foreign"])
        self.assertIn("not a Palimpsest store", str(found))

    def test_an_empty_file(self):
        found = self.doctor(b"")
        self.assertIn("is empty", str(found["foreign"]))

    def flip(self, name, text):
        """One bit, where the text stands last in the file."""
        with open(self.path(name), "rb") as file:
            data = bytearray(file.read())
        data[data.rindex(text)] ^= 1
        self.write(name, bytes(data))

    def test_files_a_damaged_journal_is_mended_when_asked(self):
        store = ("--store", "files:f")
        self.ok("append", "a", *store, stdin='{"role":"user","content":"hi"}')
        self.flip("f/journal", b"PALJ")
        self.fails(70, "internal", "log", "a", *store)
        done = self.pal("doctor", *store)
        self.assertEqual((done.status, done.err), (1, ""))
        self.assertIn("f/journal: the head of the journal is damaged", done.out)
        self.assertIn("readable: a: this conversation is whole", done.out)
        self.assertFalse(os.path.exists(self.path("f/journal.damaged")), "left as it was")
        done = self.pal("doctor", "--repair", *store)
        self.assertEqual(done.status, 1)
        self.assertIn("mended: files:f: ", done.out)
        self.assertTrue(os.path.exists(self.path("f/journal.damaged")))
        self.assertIn("hi", self.ok("log", "a", *store).out)
        self.assertIn("nothing is wrong", self.ok("doctor", *store).out)

    def test_files_a_log_whose_header_is_lost_keeps_what_was_said(self):
        store = ("--store", "files:f")
        self.ok("append", "b", *store, stdin='{"role":"user","content":"hi"}')
        self.flip("f/index", b"PALr")
        log = next(os.path.join(folder, name) for folder, _, names in os.walk(self.path("f/logs"))
                   for name in names)
        self.flip(os.path.relpath(log, self.path("")), b"default")
        uid = os.path.basename(log).split(".")[0]
        lost = ("--tenant", "lost", *store)
        self.assertIn(uid, self.pal("list", *lost).out)
        done = self.pal("copy", "--to", "sqlite:t.db", *store)
        self.assertEqual(done.status, 70)
        self.assertIn(uid, done.out + done.err)
        self.assertIn(f"mended: {uid}: ", self.pal("doctor", "--repair", *store).out)
        self.assertIn("hi", self.ok("log", uid, *lost).out)
        self.assertIn("nothing is wrong", self.ok("doctor", *store).out)

    def test_files_damaged_keys_close_the_store_until_they_are_given_up(self):
        store = ("--store", "files:f")
        for name in ("one", "two"):
            self.ok("keys", "create", name, *store)
        self.flip("f/records", b"two")
        self.fails(70, "internal", "keys", "list", *store)
        self.fails(70, "internal", "serve", "--listen", "127.0.0.1:0", *store)
        done = self.pal("doctor", *store)
        self.assertEqual(done.status, 1)
        self.assertIn("f/records: API keys", done.out)
        self.fails(70, "internal", "append", "a", *store, stdin='{"role":"user","content":"x"}')
        done = self.pal("doctor", "--repair", *store)
        self.assertIn("look at `pal keys list`", done.out)
        self.ok("keys", "list", *store)

    def test_files_without_their_records_are_mended_when_asked(self):
        store = ("--store", "files:f")
        self.ok("append", "a", *store, stdin='{"role":"user","content":"hi"}')
        os.remove(self.path("f/records"))
        self.fails(70, "internal", "log", "a", *store)
        self.assertEqual(self.pal("doctor", "--repair", *store).status, 1)
        self.assertIn("hi", self.ok("log", "a", *store).out)

    def test_files_a_fork_of_what_is_damaged_is_not_whole(self):
        store = ("--store", "files:f")
        self.ok("append", "a", *store, stdin='{"role":"user","content":"hello there"}')
        self.ok("fork", "a", "b", *store)
        self.ok("append", "c", *store, stdin='{"role":"user","content":"another"}')
        for folder, _, names in os.walk(self.path("f/logs")):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.path(""))
                with open(self.path(path), "rb") as file:
                    if b"hello there" in file.read():
                        self.flip(path, b"hello there")
        done = self.pal("doctor", *store)
        self.assertIn("damaged: b: what it was forked from is damaged", done.out)
        self.assertIn("readable: c: this conversation is whole", done.out)

    def test_a_log_shows_what_is_readable_around_a_damaged_entry(self):
        self.ok("append", "a", stdin="\n".join(
            '{"role":"user","content":"message %d of them"}' % i for i in range(1, 8)))
        self.flip("palimpsest.db", b"message 3 of them")
        done = self.pal("log", "a")
        self.assertEqual(done.status, 70)
        lines = done.out.splitlines()
        self.assertEqual(len(lines), 7)
        self.assertIn("unreadable", lines[2])
        self.assertIn("message 7 of them", lines[6])
        self.assertIn("entry 3", done.err)

    def test_a_view_without_its_first_or_last_entry_is_not_given_out(self):
        for lost in (1, 3):
            self.ok("append", f"c{lost}", stdin="\n".join(
                '{"role":"user","content":"message %d"}' % i for i in range(1, 4)))
            with sqlite3.connect(self.path("palimpsest.db")) as db:
                db.execute("DELETE FROM entry WHERE seq = ? AND log = (SELECT max(log) FROM log)",
                           (lost,))
            db.close()
            self.assertIn(f"entry {lost}", self.fails(70, "internal", "view", f"c{lost}"))

    def test_what_lost_a_part_of_its_header_is_erased_and_that_is_said(self):
        self.make_store(each=2)
        db = sqlite3.connect(self.path("palimpsest.db"))
        db.execute("DELETE FROM head WHERE log = (SELECT log FROM log WHERE name = 'b')")
        db.commit()
        db.close()
        self.fails(70, "internal", "show", "b")
        erased = self.pal("erase", "b")
        self.assertEqual(erased.status, 0, erased.err)
        self.assertIn("erased 2 entries", erased.out)
        self.assertIn("b: it was erased unread: the header of", erased.err)
        self.assertIn("nothing is wrong", self.ok("doctor").out)

    def change(self, *statements):
        db = sqlite3.connect(self.path("palimpsest.db"))
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()

    def listed(self, **options):
        return sorted(row["id"] for row in self.ok("list", "--json", **options).lines())

    def test_erase_by_owner_takes_damaged_ones_that_the_index_still_has_and_names_the_others(self):
        for name, owner in (("a", "o1"), ("b", "o1"), ("c", "o2"), ("d", "o1")):
            self.ok("append", name, "--owner", owner, stdin='{"role":"user","content":"x"}')
        self.ok("append", "nobody_s", stdin='{"role":"user","content":"x"}')
        self.change("UPDATE log SET title = 'zz' WHERE name = 'a'",
                    "UPDATE log SET owner = 'zz' WHERE name = 'd'")
        would = self.pal("erase", "--owner", "o1", "--dry-run")
        self.assertEqual((would.status, would.out.split()), (70, ["b", "a"]), would.err)
        self.assertIn("left as they are: d;", would.err)
        aged = self.pal("erase", "--owner", "o1", "--older-than", "90d", "--dry-run")
        self.assertEqual((aged.status, aged.out), (70, ""), aged.err)
        self.assertIn("left as they are: a, d;", aged.err)
        done = self.pal("erase", "--owner", "o1")
        self.assertEqual(done.status, 70, done.err)
        self.assertIn("a: it was erased unread: the header of", done.err)
        self.assertIn("left as they are: d;", done.err)
        self.assertEqual(self.listed(), ["c", "d", "nobody_s"])

    def test_erase_by_owner_takes_what_lost_its_key(self):
        sealed = {"env": {"PAL_ENCRYPTION_KEY": "env:PAL_MASTER", "PAL_MASTER": "ab" * 32}}
        for name, owner in (("a", "o1"), ("b", "o1"), ("c", "o2")):
            self.ok("append", name, "--owner", owner, stdin='{"role":"user","content":"x"}', **sealed)
        self.change("DELETE FROM record WHERE space = 'pal.key' AND key = (SELECT lower(hex(uid)) "
                    "FROM log WHERE name = 'a')")
        done = self.pal("erase", "--owner", "o1", **sealed)
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("a: it was erased unread: the key of", done.err)
        self.assertEqual(self.listed(**sealed), ["c"])

    def test_no_file_or_a_folder_is_an_error(self):
        self.fails(4, "not_found", "doctor")
        os.mkdir(self.path("palimpsest.db"))
        self.fails(2, "invalid_request", "doctor")


if __name__ == "__main__":
    main()
