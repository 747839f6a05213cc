"""Unmodified clients from the registries against /v1/responses and /v1/conversations of the real
program: npm `openai` and `@openai/agents`, PyPI `openai` and `openai-agents`, with a scripted model
of each format behind. One test for each behaviour; the clients stay in the build folder."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, SCRIPTS)
from rule_upstream import WORDS_OF_SLOW, RuleUpstream  # noqa: E402

BUILD, SOURCE = sys.argv[1], sys.argv[2]
PAL = os.path.abspath(os.path.join(BUILD, "pal"))
FOLDER = os.path.abspath(os.path.join(BUILD, "responses_clients"))
MODELS = {"openai_chat": "gpt-4.1", "openai_responses": "gpt-5", "anthropic": "gpt-4o"}


def fetch(command, there):
    """Says why the clients cannot be had, or nothing."""
    mark = os.path.join(FOLDER, there)
    if os.path.exists(mark):
        return None
    os.makedirs(FOLDER, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "the registry did not answer in time"
    if done.returncode:
        return "the clients cannot be had: " + done.stderr.strip()[-300:]
    open(mark, "w").close()
    return None


def node_command():
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "node and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    # From version 7 on the client of OpenAI needs Node 22, which npm has too.
    newer = [] if int(version.lstrip("v").split(".")[0]) >= 22 else ["node@22"]
    node = os.path.join(FOLDER, "node_modules", "node", "bin", "node") if newer else "node"
    reason = fetch(["npm", "install", "--prefix", FOLDER, "--no-audit", "--no-fund",
                    "--fetch-retries=0", "openai@7", "@openai/agents@0", "zod@4", *newer],
                   "npm.fetched")
    return [node, os.path.join(SCRIPTS, "responses_clients.mjs"), FOLDER], reason


def python_command():
    folder = os.path.join(FOLDER, "python")
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        return None, "pip is not installed"
    reason = fetch([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                    "--target", folder, "openai", "openai-agents"], "pip.fetched")
    return ["env", "PYTHONPATH=" + folder, sys.executable,
            os.path.join(SCRIPTS, "responses_clients.py")], reason


def settings(upstream):
    tables = [f'[models."{name}"]\nurl = "{upstream.url()}"\nformat = "{format}"\n'
              'proxy = "none"\nretries = 0\n' for format, name in MODELS.items()]
    return 'model = "gpt-4.1"\n' + "".join(tables)


def run_clients(command):
    """All scenes of one script, against a server and a store of their own."""
    upstream = RuleUpstream()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
            file.write(settings(upstream))
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PAL_", "OPENAI_"))}
        server = subprocess.Popen([PAL, "serve", "--listen", "127.0.0.1:0", "--json", "--log-level",
                                   "quiet"], cwd=folder, env=environment, stdout=subprocess.PIPE)
        try:
            address = json.loads(server.stdout.readline())["listen"]
            done = subprocess.run([*command, f"http://{address}/v1"], capture_output=True,
                                  timeout=120, cwd=folder, env=environment)
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()
            upstream.shutdown()
            upstream.server_close()
    if done.returncode:
        raise AssertionError(done.stderr.decode()[-3000:])
    return json.loads(done.stdout)


def hears(count, last):
    return f"{count} messages, the last one: {last}"


class Clients(unittest.TestCase):
    """What each scene must have seen; `find` gives the command that runs the scenes."""

    @classmethod
    def setUpClass(cls):
        command, cls.reason = cls.find()
        cls.scenes = {} if cls.reason else run_clients(command)

    def check(self, name, expected):
        if self.reason:
            print("skipped: " + self.reason)
            self.skipTest(self.reason)
        self.assertEqual(self.scenes[name], {"seen": expected})


class NodeClients(Clients):
    find = staticmethod(node_command)

    def test_answers_and_is_read_again(self):
        self.check("answers_and_is_read_again",
                   [hears(1, "Hello"), hears(1, "Hello"), "Be brief.", 16])

    def test_streams_through_the_stream_helper_with_every_format_behind(self):
        text = hears(1, "Hello")
        self.check("streams_through_the_stream_helper",
                   {name: [text, text, "completed"] for name in MODELS})

    def test_calls_tools_streamed_with_every_format_behind(self):
        self.check("calls_tools_streamed_with_every_format_behind",
                   {name: ["get_weather", '{"city":"Oslo"}', "The tool said rain."]
                    for name in MODELS})

    def test_continues_and_branches(self):
        self.check("continues_and_branches", [hears(3, "left"), hears(3, "right"),
                                              ["one", hears(1, "one"), "right"]])

    def test_answers_in_a_conversation_and_pages_its_items(self):
        self.check("answers_in_a_conversation_and_pages_its_items",
                   [["one", hears(1, "one"), "two", hears(3, "two")], {"a": "b"}])

    def test_adds_reads_and_deletes_items_and_conversations(self):
        self.check("adds_reads_and_deletes_items_and_conversations", [["b"], ["a"], True, 404])

    def test_runs_in_the_background_and_is_polled(self):
        self.check("runs_in_the_background_and_is_polled", ["queued", hears(1, "Hello")])

    def test_cancels_what_runs_in_the_background(self):
        self.check("cancels_what_runs_in_the_background", ["cancelled", "cancelled"])

    def test_resumes_a_stream_that_was_cut(self):
        self.check("resumes_a_stream_that_was_cut", [WORDS_OF_SLOW, 1, True, True])

    def test_deletes_responses(self):
        self.check("deletes_responses", 404)

    def test_stores_nothing_when_told_so(self):
        self.check("stores_nothing_when_told_so", [hears(1, "Hello"), 404])

    def test_compacts_and_goes_on_from_it(self):
        self.check("compacts_and_goes_on_from_it",
                   ["response.compaction", ["message", "message", "compaction"], "Who is Tom?"])

    def test_counts_tokens_as_the_service_does(self):
        self.check("counts_tokens", 16)

    def test_refuses_by_name(self):
        self.check("refuses_by_name", [400, "prompt", "BadRequestError"])

    def test_retries_by_itself_and_nothing_is_said_twice(self):
        self.check("retries_by_itself_and_nothing_is_said_twice",
                   [hears(1, "flaky in a conversation"), hears(1, "flaky alone"), 2])

    def test_keeps_encrypted_reasoning_in_its_place(self):
        self.check("keeps_encrypted_reasoning_in_its_place",
                   [["reasoning", "message"], "sealed", ["reasoning", "message"], "sealed"])

    def test_takes_structured_formats(self):
        self.check("takes_structured_formats", "n")

    def test_agents_use_tools_plain_and_streamed(self):
        text = "The tool said rain."
        self.check("agents_use_tools_plain_and_streamed", [text, text, text, ["Oslo", "Oslo"]])

    def test_agents_continue_by_response_and_by_conversation(self):
        self.check("agents_continue_by_response_and_by_conversation",
                   [hears(3, "two"), hears(3, "due")])

    def test_agents_keep_a_conversations_session(self):
        self.check("agents_keep_a_conversations_session",
                   [hears(3, "two"), 4, "assistant", 3, "user", 404])

    def test_agents_keep_a_memory_session(self):
        self.check("agents_keep_a_memory_session", hears(3, "two"))

    def test_agents_compact_a_session(self):
        one = [["message", "message", "compaction"], "Who is Tom?"]
        self.check("agents_compact_a_session", [one, one])


class PythonClients(Clients):
    find = staticmethod(python_command)

    def test_answers_and_is_read_again(self):
        self.check("answers_and_is_read_again", [hears(1, "Hello"), hears(1, "Hello"), 16])

    def test_streams_through_the_stream_helper_with_every_format_behind(self):
        text = hears(1, "Hello")
        self.check("streams_through_the_stream_helper", {name: [text, text] for name in MODELS})

    def test_resumes_a_stream_that_was_cut(self):
        self.check("resumes_a_stream_that_was_cut", [WORDS_OF_SLOW, 1])

    def test_runs_in_the_background_and_is_polled(self):
        self.check("runs_in_the_background_and_is_polled", hears(1, "Hello"))

    def test_pages_items_of_a_conversation(self):
        self.check("pages_items_of_a_conversation",
                   [["one", hears(1, "one"), "two", hears(3, "two")], True, 404])

    def test_does_not_continue_a_deleted_response(self):
        self.check("continues_after_a_deleted_response_is_refused", [hears(3, "two"), 404])

    def test_counts_and_compacts(self):
        self.check("counts_and_compacts", [16, ["message", "compaction"]])

    def test_agents_use_tools_plain_and_streamed(self):
        text = "The tool said rain in Oslo."
        self.check("agents_use_tools_plain_and_streamed", [text, text])

    def test_agents_continue_by_response_and_by_conversation(self):
        self.check("agents_continue_by_response_and_by_conversation",
                   [hears(3, "two"), hears(3, "due")])

    def test_agents_keep_a_conversations_session(self):
        self.check("agents_keep_a_conversations_session", [hears(3, "two"), 4, "assistant", 3])

    def test_agents_keep_a_sqlite_session(self):
        self.check("agents_keep_a_sqlite_session", hears(3, "two"))

    def test_agents_compact_a_session(self):
        self.check("agents_compact_a_session",
                   [["message", "message", "compaction"], "Who is Tom?"])


del Clients  # It has no scenes of its own.

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
