"""Unmodified clients from the registries against /v1/responses and /v1/conversations of the real
program: npm `openai` and `@openai/agents`, PyPI `openai` and `openai-agents`, with a scripted model
of each format behind. One test for each behaviour; the clients stay in the build folder."""
import sys
import unittest

from client_run import MODELS, ClientSet, Clients, hears
from rule_upstream import WORDS_OF_SLOW

CLIENTS = ClientSet("responses_clients", ["openai@7", "@openai/agents@0", "zod@4"],
                    22,  # From version 7 on the client of OpenAI needs Node 22.
                    ["openai", "openai-agents"])


class NodeClients(Clients):
    find = CLIENTS.node

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
    find = CLIENTS.python

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
