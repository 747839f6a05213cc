"""Unmodified clients from the registries, fetched once into the build folder, and scenes that they
play against the real program with a scripted model of each format behind."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from rule_upstream import RuleUpstream

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
MODELS = {"openai_chat": "gpt-4.1", "openai_responses": "gpt-5", "anthropic": "gpt-4o"}


class ClientSet:
    """The packages of one test; they stay in the folder NAME of the build. Each command comes with
    the reason why it cannot be had, or None."""

    def __init__(self, name, node_packages, node_version, python_packages):
        self.name, self.folder = name, os.path.join(BUILD, name)
        self.node_packages, self.node_version = node_packages, node_version
        self.python_packages = python_packages

    def fetch(self, command, mark):
        mark = os.path.join(self.folder, mark)
        if os.path.exists(mark):
            return None
        os.makedirs(self.folder, exist_ok=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "the registry did not answer in time"
        if done.returncode:
            return "the clients cannot be had: " + done.stderr.strip()[-300:]
        open(mark, "w").close()
        return None

    def node(self):
        """Runs NAME.mjs. A client may want a newer Node than the machine's, which npm has too."""
        if not shutil.which("node") or not shutil.which("npm"):
            return None, "node and npm are not installed"
        version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
        old = int(version.lstrip("v").split(".")[0]) < self.node_version
        node = os.path.join(self.folder, "node_modules", "node", "bin", "node") if old else "node"
        reason = self.fetch(["npm", "install", "--prefix", self.folder, "--no-audit", "--no-fund",
                             "--fetch-retries=0", *self.node_packages,
                             *(["node@22"] if old else [])], "npm.fetched")
        return [node, os.path.join(SCRIPTS, self.name + ".mjs"), self.folder], reason

    def python(self):
        """Runs NAME.py."""
        folder = os.path.join(self.folder, "python")
        if subprocess.run([sys.executable, "-m", "pip", "--version"],
                          capture_output=True).returncode:
            return None, "pip is not installed"
        reason = self.fetch([sys.executable, "-m", "pip", "install", "-q",
                             "--disable-pip-version-check", "--no-compile", "--target", folder,
                             *self.python_packages], "pip.fetched")
        return ["env", "PYTHONPATH=" + folder, sys.executable,
                os.path.join(SCRIPTS, self.name + ".py")], reason


def settings(upstream):
    tables = [f'[models."{name}"]\nurl = "{upstream.url()}"\nformat = "{format}"\n'
              'proxy = "none"\nretries = 0\n' for format, name in MODELS.items()]
    return 'model = "gpt-4.1"\n' + "".join(tables)


def client_environment():
    own = {k: v for k, v in os.environ.items()
           if not k.startswith(("PAL_", "OPENAI_", "ANTHROPIC_")) and "proxy" not in k.lower()}
    # LiteLLM would fetch its list of prices.
    return {**own, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "AI_SDK_LOG_WARNINGS": "false"}


def run_scenes(command):
    """All scenes of one script, against a server and a store of their own."""
    upstream = RuleUpstream()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
            file.write(settings(upstream))
        server = subprocess.Popen([os.path.join(BUILD, "pal"), "serve", "--listen", "127.0.0.1:0",
                                   "--json", "--log-level", "quiet"], cwd=folder,
                                  env=client_environment(), stdout=subprocess.PIPE)
        try:
            address = json.loads(server.stdout.readline())["listen"]
            done = subprocess.run([*command, f"http://{address}/v1"], capture_output=True,
                                  timeout=120, cwd=folder, env=client_environment())
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()
            upstream.shutdown()
            upstream.server_close()
    if done.returncode:
        raise AssertionError(done.stderr.decode()[-3000:])
    return json.loads(done.stdout.decode().splitlines()[-1])


def hears(count, last):
    """How the scripted model answers."""
    return f"{count} messages, the last one: {last}"


class Clients(unittest.TestCase):
    """What each scene must have seen; `find` gives the command that runs the scenes."""

    @classmethod
    def setUpClass(cls):
        command, cls.reason = cls.find()
        cls.scenes = {} if cls.reason else run_scenes(command)

    def check(self, name, expected):
        if self.reason:
            print("skipped: " + self.reason)
            self.skipTest(self.reason)
        self.maxDiff = None
        self.assertEqual(self.scenes[name], {"seen": expected})
