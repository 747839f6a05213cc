"""What the scripts about `pal` share: a folder with a store of its own, and the real program."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1], sys.argv[2]
PROGRAM = os.path.join(BUILD, "pal")


def clean_environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PAL_") and k != "NO_COLOR"}
    env.update(extra or {})
    return env


class Done:
    """How a run ended; `out` and `err` are text, `raw` the bytes of standard output."""

    def __init__(self, process):
        self.status = process.returncode
        self.raw = process.stdout
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class PalTest(unittest.TestCase):
    """Every test has a folder; `pal` runs in it, with the default store in it."""

    def setUp(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="pal_cli_", dir=parent)

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def pal(self, *words, stdin=b"", env=None, timeout=60):
        stdin = stdin if isinstance(stdin, bytes) else stdin.encode()
        return Done(subprocess.run([PROGRAM, *words], input=stdin, cwd=self.folder, timeout=timeout,
                                   env=clean_environment(env), capture_output=True))

    def ok(self, *words, **options):
        done = self.pal(*words, **options)
        self.assertEqual((done.status, done.err), (0, ""), f"pal {' '.join(words)}")
        return done

    def fails(self, status, code, *words, **options):
        """Runs, expects the exit status and `pal: CODE: ...` alone; gives the message."""
        done = self.pal(*words, **options)
        shown = f"pal {' '.join(words)[:200]}\n{done.out[:500]}\n{done.err[:500]}"
        self.assertEqual(done.status, status, shown)
        self.assertRegex(done.err, rf"\Apal: {code}: [^\n]+\n\Z", shown)
        self.assertNotRegex(done.err.rstrip("\n"), r"[\x00-\x1f\x7f]", "control bytes in an error")
        return done.err

    def say(self, conversation, *texts, role="user"):
        for text in texts:
            self.ok("append", conversation, stdin=json.dumps({"role": role, "content": text}))


def start_server(test, *words, listen="127.0.0.1:0", env=None):
    """`pal serve`, listening; gives the process and its address. Stopped when the test ends."""
    process = subprocess.Popen([PROGRAM, "serve", "--listen", listen, "--log-level", "quiet",
                                "--json", *words], cwd=test.folder, env=clean_environment(env),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stop():
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()
        process.stderr.close()
    test.addCleanup(stop)
    line = process.stdout.readline()
    if not line:
        raise AssertionError("the server did not start: " + process.stderr.read().decode())
    return process, json.loads(line)["listen"]


TIME = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=1)
