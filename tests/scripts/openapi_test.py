"""openapi_test.py BUILD SOURCE: a public validator finds no fault with /openapi.json."""
import json
import os
import subprocess
import sys
import unittest
import urllib.request

from client_run import BUILD, ClientSet, client_environment

VALIDATOR = ClientSet("openapi_validator", [], 0, ["openapi-spec-validator"])
CHECK = ("import json, sys; from openapi_spec_validator import validate; "
         "validate(json.load(sys.stdin)); print('valid')")


def description():
    server = subprocess.Popen([os.path.join(BUILD, "pal"), "serve", "--listen", "127.0.0.1:0",
                               "--store", "memory:", "--json", "--log-level", "quiet"],
                              env=client_environment(), stdout=subprocess.PIPE)
    try:
        address = json.loads(server.stdout.readline())["listen"]
        with urllib.request.urlopen(f"http://{address}/openapi.json") as answer:
            return answer.read()
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


class OpenApi(unittest.TestCase):
    def test_a_public_validator_finds_no_fault(self):
        command, reason = VALIDATOR.python()
        if reason:
            print("skipped: " + reason)
            self.skipTest(reason)
        done = subprocess.run([*command[:-1], "-c", CHECK], input=description(),
                              capture_output=True, timeout=120)
        self.assertEqual((done.stdout.decode().strip(), done.stderr.decode()[-3000:]),
                         ("valid", ""))


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
