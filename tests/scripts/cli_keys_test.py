"""Keys of clients, from outside: made, listed, revoked, and wanted by a running server."""
import json
import os
import time
import urllib.error
import urllib.request

from pal_run import PalTest, main, start_server


class Keys(PalTest):
    def status(self, address, key=None):
        request = urllib.request.Request(f"http://{address}/api/v1/conversations")
        if key:
            request.add_header("Authorization", "Bearer " + key)
        try:
            return urllib.request.urlopen(request, timeout=30).status
        except urllib.error.HTTPError as error:
            return error.code

    def test_a_key_is_shown_once_and_listed_without_its_text(self):
        made = self.ok("keys", "create", "app", "--scopes", "read", "--rate", "60", "--json").json()
        self.assertTrue(made["key"].startswith("pal_" + made["id"] + "_"))
        row = self.ok("keys", "list", "--json").json()
        self.assertEqual({k: row[k] for k in ("id", "name", "tenant", "scopes", "per_minute")},
                         {"id": made["id"], "name": "app", "tenant": "default", "scopes": ["read"],
                          "per_minute": 60})
        self.assertNotIn("key", row)
        self.ok("keys", "revoke", made["id"])
        self.assertEqual(self.ok("keys", "list", "--json").out, "")
        self.fails(4, "not_found", "keys", "revoke", made["id"])
        self.fails(2, "invalid_request", "keys", "create", "--scopes", "root")
        self.fails(2, "invalid_request", "keys", "bogus")

    def get(self, address, path, key, body=None):
        request = urllib.request.Request(
            f"http://{address}{path}", body and json.dumps(body).encode(),
            {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def test_an_empty_list_is_no_key_for_everything(self):
        for flag in ("--models", "--budget"):
            done = self.pal("keys", "create", "ci", flag, "")
            self.assertEqual(done.status, 2, done.out)
            self.assertIn(flag, done.err)
        self.assertEqual(self.pal("keys", "list").status, 4, "no store was made")

    def test_a_budget_is_spent_and_the_acts_are_written_down(self):
        self.fails(2, "invalid_request", "keys", "create", "--budget", "much")
        made = self.ok("keys", "create", "app", "--budget", "1tokens/month", "--json").json()
        self.assertEqual(made["budget"], ["1tokens/month"])
        admin = self.ok("keys", "create", "--scopes", "admin", "--json").json()
        _, address = start_server(self)
        chat = {"message": "Hello"}
        self.assertEqual(self.get(address, "/api/v1/chat", made["key"], chat)[0], 200)
        status, refused = self.get(address, "/api/v1/chat", made["key"], chat)
        self.assertEqual((status, refused["error"]["code"]), (429, "rate_limited"))
        rows = {row["id"]: row for row in self.ok("keys", "list", "--json").lines()}
        self.assertGreater(rows[made["id"]]["spent_today"]["tokens"], 0)
        self.ok("keys", "revoke", made["id"])
        acts = self.get(address, "/api/v1/audit", admin["key"])[1]["data"]
        self.assertEqual([(act["act"], act["target"], act["outcome"]) for act in acts],
                         [("key.revoke", made["id"], "done"), ("key.create", admin["id"], "done"),
                          ("key.create", made["id"], "done")])

    def test_a_key_is_revoked_in_the_audit_log_of_its_own_tenant(self):
        _, address = start_server(self)
        made = self.ok("keys", "create", "--tenant", "acme", "--json").json()
        readers = {tenant: self.ok("keys", "create", "--tenant", tenant, "--scopes", "admin",
                                   "--json").json()["key"] for tenant in ("acme", "default")}
        self.wait_for(lambda: self.status(address) == 401)
        self.ok("keys", "revoke", made["id"])
        revoked = {tenant: [act["target"] for act in
                            self.get(address, "/api/v1/audit", key)[1]["data"]
                            if act["act"] == "key.revoke"] for tenant, key in readers.items()}
        self.assertEqual(revoked, {"acme": [made["id"]], "default": []})

    def test_a_running_server_learns_of_keys(self):
        _, address = start_server(self)
        self.assertEqual(self.status(address), 200)
        key = self.ok("keys", "create").out.strip()
        self.wait_for(lambda: self.status(address) == 401)
        self.assertEqual(self.status(address, key), 200)
        self.ok("keys", "revoke", self.ok("keys", "list", "--json").json()["id"])
        self.wait_for(lambda: self.status(address, key) == 401)

    def test_serve_check_tells_whether_a_server_would_start(self):
        self.assertIn("these settings are good", self.ok("serve", "--check").out)
        start_server(self)
        self.ok("serve", "--check")
        self.fails(3, "forbidden", "serve", "--check", "--listen", "0.0.0.0:0")
        self.ok("serve", "--check", "--listen", "0.0.0.0:0", "--without-keys", "anyone may use it")
        self.fails(2, "invalid_request", "serve", "--check", "--model", "")

    def test_serve_check_leaves_no_store_where_there_was_none(self):
        for store in ("sqlite:new.db", "files:new?sync=never"):
            before = sorted(os.listdir(self.folder))
            self.ok("serve", "--check", "--store", store)
            self.fails(3, "forbidden", "serve", "--check", "--store", store, "--listen", "0.0.0.0:1")
            self.assertEqual(sorted(os.listdir(self.folder)), before)
        refused = self.fails(4, "not_found", "serve", "--check", "--store", "sqlite:no/folder.db")
        self.assertIn("no/folder.db:", refused)

    def test_who_only_reads_leaves_an_empty_store_unencrypted(self):
        self.ok("keys", "new", "k")
        key = ("--encryption-key", "file:" + self.path("k"))
        for kind in ("sqlite", "files"):
            url = f"{kind}:{self.path(kind)}"
            process, _ = start_server(self, "--store", url)
            process.terminate()
            process.wait()
            for words in (("list",), ("show", "a"), ("log", "a"), ("search", "word"), ("reindex",),
                          ("doctor",), ("keys", "list"), ("copy", "--to", "memory:"),
                          ("serve", "--check")):
                self.pal(*words, "--store", url, *key)
                self.ok("list", "--store", url)
            self.fails(4, "not_found", "list", "--store", url, "--encryption-key", "file:none")
            self.ok("append", "a", "--store", url, *key, stdin='{"role":"user","content":"sealed"}')
            self.fails(3, "forbidden", "list", "--store", url)
            self.assertIn("sealed", self.ok("log", "a", "--store", url, *key).out)

    def test_serve_check_names_models_without_a_key(self):
        self.write("palimpsest.toml",
                   '[models.m]\nurl = "http://127.0.0.1:1/v1"\nkey_env = "NO_SUCH_KEY"\n'
                   '[models.n]\nurl = "http://127.0.0.1:1/v1"\n')
        said = self.ok("serve", "--check", "--model", "m").out
        self.assertIn("warning: the model m needs a key: set NO_SUCH_KEY", said)
        self.assertEqual(len(self.ok("serve", "--check", "--model", "m", "--json").json()["warnings"]), 1)

    def wait_for(self, true):
        end = time.monotonic() + 30
        while not true():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)


if __name__ == "__main__":
    main()
