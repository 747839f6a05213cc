"""What a copy or an import says about what it cannot carry over, from outside."""
import json
import time

from pal_run import PalTest, main

HELLO = json.dumps({"role": "user", "content": "Hello"})


class Copy(PalTest):
    def store(self, kind, name):
        return f"{kind}:{self.path(name)}"

    def test_a_copy_that_is_not_encrypted_as_its_source_is_is_told(self):
        self.ok("keys", "new", self.path("k"))
        key = ["--encryption-key", "file:" + self.path("k")]
        self.ok("append", "a", "--store", self.store("files", "sealed"), *key, stdin=HELLO)
        copy = ["copy", "--json", "--store", self.store("files", "sealed"), *key, "--to"]
        plain = self.pal(*copy, self.store("sqlite", "plain"))
        self.assertEqual(plain.status, 0)
        self.assertIn("the copy is not", plain.err)
        self.assertIn("the copy is not", plain.json()["warnings"][0])
        sealed = self.ok(*copy, self.store("sqlite", "again"), "--to-encryption-key", key[1])
        self.assertEqual((sealed.err, sealed.json()["warnings"]), ("", []))

    def test_a_copy_again_names_what_was_erased_or_expired_in_the_source(self):
        source, target = self.store("sqlite", "s"), self.store("files", "t")
        for name in ("kept", "erased", "brief"):
            self.ok("append", name, "--store", source, stdin=HELLO)
        self.ok("append", "own", "--store", target, stdin=HELLO)
        copy = ["copy", "--json", "--store", source, "--to", target]
        self.assertEqual(self.ok(*copy).json()["in_target_alone"], ["own"])
        self.ok("erase", "erased", "--store", source)
        self.ok("append", "brief", "--ttl", "1ms", "--store", source, stdin=HELLO)
        time.sleep(0.01)
        self.assertEqual(sorted(self.ok(*copy).json()["in_target_alone"]), ["brief", "erased", "own"])
        self.assertIn("3 in the target alone", self.ok(*(w for w in copy if w != "--json")).out)

    def test_a_copy_of_all_tenants_names_what_is_gone_with_its_tenant_in_the_source(self):
        source, target = self.store("sqlite", "s"), self.store("files", "t")
        self.ok("append", "a", "--store", source, stdin=HELLO)
        self.ok("append", "b", "--tenant", "t2", "--store", source, stdin=HELLO)
        copy = ["copy", "--all-tenants", "--json", "--store", source, "--to", target]
        self.assertEqual(self.ok(*copy).json()["in_target_alone"], [])
        self.ok("erase", "b", "--tenant", "t2", "--store", source)
        self.assertEqual(self.ok(*copy).json()["in_target_alone"], ["t2/b"])

    def test_an_import_names_the_line_of_an_entry_that_does_not_decode(self):
        url = self.store("sqlite", "s")
        for _ in range(3):
            self.ok("append", "a", "--store", url, stdin=HELLO)
        lines = self.ok("export", "a", "--store", url).out.splitlines()
        broken = json.loads(lines[2])
        for meta in ("", "AAAA", broken["meta"][:4]):
            with open(self.path("broken.jsonl"), "w") as file:
                file.write("\n".join([*lines[:2], json.dumps({**broken, "meta": meta}), *lines[3:]]))
            with open(self.path("whole.jsonl"), "w") as file:
                file.write("\n".join(lines))
            error = self.fails(2, "invalid_request", "import", self.path("broken.jsonl"), "--id", "c", "--store", url)
            self.assertIn("line 3: ", error)
            self.fails(4, "not_found", "show", "c", "--store", url)
        self.ok("import", self.path("whole.jsonl"), "--id", "c", "--store", url)


main()
