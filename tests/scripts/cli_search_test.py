"""`pal search` and `pal reindex`, from outside."""
import os

from pal_run import PalTest, main


class Search(PalTest):
    def setUp(self):
        super().setUp()
        self.ok("append", "a", stdin='[{"role":"user","content":"The gate for Oslo is 12"},'
                                     '{"role":"assistant","content":"Noted, gate 12."}]')
        self.ok("append", "b", "--owner", "ben", stdin='{"role":"user","content":"Oslo is cold"}')

    def test_prints_rows_as_json(self):
        rows = self.ok("search", "oslo", "gates", "--json").lines()[:2]
        self.assertEqual([(r["conversation_id"], r["seq"]) for r in rows], [("a", 1), ("a", 2)])
        self.assertEqual(rows[0]["message"], {"role": "user", "content": "The gate for Oslo is 12"})
        self.assertEqual(rows[0]["snippet"], "The «gate» for «Oslo» is 12")
        self.assertTrue(rows[0]["in_view"])
        self.assertGreaterEqual(rows[0]["score"], rows[1]["score"])

    def test_shows_the_place_and_how_to_go_there(self):
        text = self.ok("search", "oslo", "--in", "a").out
        self.assertIn("«Oslo»", text)
        self.assertIn("look further: pal log a --at 1", text)
        self.assertIn("gate 12", self.ok("log", "a", "--at", "1").out)

    def test_the_way_there_can_be_pasted_into_a_shell(self):
        hello = '{"role":"user","content":"a yak"}'
        self.ok("append", "it's a day", "--tenant", "x y", stdin=hello)
        text = self.ok("search", "yak", "--tenant", "x y").out
        self.assertIn("look further: pal log --tenant 'x y' 'it'\\''s a day' --at 1", text)
        self.ok("append", "--", "-d", stdin=hello)
        self.assertIn("look further: pal log --at 1 -- -d", self.ok("search", "yak").out)
        self.assertIn("a yak", self.ok("log", "--at", "1", "--", "-d").out)

    def test_filters(self):
        found = self.ok("search", "oslo", "--owner", "ben", "--json").lines()
        self.assertEqual([r["conversation_id"] for r in found], ["b"])
        found = self.ok("search", "gate", "--role", "assistant", "--json").lines()
        self.assertEqual([r["seq"] for r in found], [2])
        self.assertEqual(self.ok("search", "gate", "--limit", "0", "--json").out, "")
        self.fails(2, "invalid_request", "search", "x", "--role", "nobody")
        self.assertEqual(self.ok("search", "gate", "--role", "other", "--json").out, "")
        self.fails(2, "invalid_request", "search", "x", "--limit", "1001")
        self.fails(2, "invalid_request", "search", "x", "--offset", "18446744073709551615")
        self.assertEqual(self.ok("search", "xylophone", "--in", "a").out, "nothing found in 1 conversation\n")
        self.assertEqual(self.ok("search", "gate", "--limit", "0").out, "nothing is shown with --limit 0\n")
        self.fails(4, "not_found", "search", "x", "--in", "absent")
        self.fails(2, "unprocessable", "search", "x", "--mode", "vector")

    def test_reindexes_and_finds_the_same(self):
        before = self.ok("search", "oslo gate", "--json").out
        done = self.ok("reindex", "--json").json()
        self.assertEqual((done["conversations"], done["messages"]), (2, 3))
        self.assertEqual(self.ok("search", "oslo gate", "--json").out, before)

    def test_forgets_what_was_scrubbed_and_erased(self):
        self.ok("reindex")
        self.ok("scrub", "a", "1")
        self.ok("erase", "b")
        self.assertEqual(self.ok("search", "oslo", "--json").out, "")


class Reindex(PalTest):
    def test_refuses_a_store_that_is_not_there_and_makes_none(self):
        self.fails(4, "not_found", "reindex")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    main()
