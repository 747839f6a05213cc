"""Unmodified clients from the registries against /v1/chat/completions, /v1/messages, /v1/models and
/v1/embeddings of the real program: npm `openai`, `@anthropic-ai/sdk`, `ai` with `@ai-sdk/openai` and
`@ai-sdk/openai-compatible`, `@langchain/openai`; PyPI `openai`, `anthropic`, `langchain-openai`,
`litellm`; with a scripted model of each format behind. One test for each behaviour; the clients stay
in the build folder."""
import sys
import unittest

from client_run import MODELS, ClientSet, Clients, hears

NAMES = sorted(MODELS.values())
CLIENTS = ClientSet("gateway_clients",
                    ["openai@6", "@anthropic-ai/sdk@1", "ai@6", "@ai-sdk/openai@3",
                     "@ai-sdk/openai-compatible@2", "@langchain/openai@1", "@langchain/core@1",
                     "zod@4"], 20,  # LangChain needs Node 20.
                    ["openai", "anthropic", "langchain-openai", "litellm"])


def each(expected):
    return {name: expected for name in MODELS}


HELLO = hears(1, "Hello")
RAIN = "The tool said rain in Oslo."
# The answer of a model that speaks Responses is two items: reasoning and message.
ITEMS = {"openai_chat": 1, "openai_responses": 2, "anthropic": 1}


class NodeClients(Clients):
    find = CLIENTS.node

    def test_openai_answers_with_every_format_behind(self):
        self.check("openai_answers", each([HELLO, "stop", 16]))

    def test_openai_streams_with_every_format_behind(self):
        self.check("openai_streams", each([HELLO, "stop", 16]))

    def test_openai_streams_through_the_stream_helper(self):
        self.check("openai_stream_helper", each(HELLO))

    def test_openai_runs_tools_in_a_conversation(self):
        self.check("openai_runs_tools_in_a_conversation",
                   {name: [RAIN, 2 + 2 * items] for name, items in ITEMS.items()})

    def test_openai_streams_tool_calls(self):
        self.check("openai_streams_tools",
                   each(["get_weather", '{"city":"Oslo"}', "tool_calls"]))

    def test_openai_sends_what_is_new(self):
        self.check("openai_sends_what_is_new",
                   [hears(1, "one"), hears(3, "two"), hears(5, "three")])

    def test_openai_sends_its_whole_history_and_it_is_stored_once(self):
        self.check("openai_sends_its_whole_history",
                   {name: [hears(5 + 2 * (items - 1), "three"), 3 + 3 * items]
                    for name, items in ITEMS.items()})

    def test_openai_edits_its_past_and_the_conversation_goes_back(self):
        self.check("openai_edits_its_past", [hears(3, "another two"), 4, 6])

    def test_openai_names_the_conversation_in_the_body(self):
        self.check("openai_names_the_conversation_in_the_body", hears(3, "two"))

    def test_openai_retries_by_itself_and_nothing_is_said_twice(self):
        self.check("openai_retries_and_nothing_is_said_twice",
                   [hears(1, "flaky chat"), hears(3, "flaky stream"), 4])

    def test_openai_joins_a_turn_that_still_runs(self):
        self.check("openai_joins_a_turn_that_runs", [hears(1, "late joined"), 2])

    def test_openai_leaves_a_stream_and_what_came_is_kept(self):
        self.check("openai_leaves_a_stream", [True, True])

    def test_openai_takes_structured_output(self):
        self.check("openai_takes_structured_output", {"n": 7})

    def test_openai_keeps_completions(self):
        self.check("openai_keeps_completions",
                   [[True, True], 1, hears(1, "kept too"), {"topic": "b"}, ["kept"], True,
                    ["NotFoundError", 404]])

    def test_openai_lists_models_and_embeds(self):
        self.check("openai_lists_models_and_embeds",
                   [NAMES, "gpt-4.1", [0.5, 0.25], ["BadRequestError", 400]])

    def test_openai_is_told_what_is_wrong(self):
        bad = ["BadRequestError", 400]
        self.check("openai_is_told_what_is_wrong", [["NotFoundError", 404], bad, bad])

    def test_anthropic_answers_with_every_format_behind(self):
        self.check("anthropic_answers", each([HELLO, "end_turn", 5]))

    def test_anthropic_streams_with_every_format_behind(self):
        self.check("anthropic_streams", each([HELLO, HELLO, "end_turn", 5]))

    def test_anthropic_uses_tools_in_a_conversation(self):
        self.check("anthropic_uses_tools_in_a_conversation",
                   {name: ["tool_use", RAIN, 2 + 2 * items] for name, items in ITEMS.items()})

    def test_anthropic_sends_what_is_new_and_its_whole_history(self):
        self.check("anthropic_sends_what_is_new_and_its_whole_history", [hears(5, "three"), 6])

    def test_anthropic_edits_its_context_whatever_is_behind(self):
        done = [["clear_tool_uses_20250919", 2]]
        self.check("anthropic_edits_its_context", each([done, done]))

    def test_anthropic_counts_tokens_and_lists_models(self):
        self.check("anthropic_counts_tokens_and_lists_models", [True, NAMES, "gpt-4.1"])

    def test_anthropic_runs_tools_by_itself_without_a_thread(self):
        self.check("anthropic_runs_tools_by_itself",
                   {name: [RAIN, RAIN, 2 + 2 * items] for name, items in ITEMS.items()})

    def test_anthropic_is_told_that_there_are_no_threads(self):
        self.check("anthropic_is_told_that_there_are_no_threads",
                   ["ThreadUnsupportedRequestError", 400])

    def test_anthropic_is_told_what_is_wrong_in_its_own_words(self):
        bad = ["BadRequestError", "invalid_request_error"]
        self.check("anthropic_is_told_what_is_wrong",
                   [["NotFoundError", "not_found_error"], bad, bad])

    def test_anthropic_retries_by_itself_and_nothing_is_said_twice(self):
        self.check("anthropic_retries_and_nothing_is_said_twice", [hears(1, "flaky message"), 2])

    def test_vercel_answers_and_streams_with_every_format_behind(self):
        self.check("vercel_answers_and_streams", each([HELLO, HELLO, "stop", 16] * 2))

    def test_vercel_uses_tools_in_a_conversation(self):
        self.check("vercel_uses_tools_in_a_conversation", [RAIN, 2, 4])

    def test_vercel_makes_objects(self):
        self.check("vercel_makes_objects", {"n": 7})

    def test_langchain_answers_and_streams_with_every_format_behind(self):
        self.check("langchain_answers_and_streams", each([HELLO, HELLO]))

    def test_langchain_talks_in_a_conversation(self):
        self.check("langchain_talks_in_a_conversation", [hears(3, "two"), 4])

    def test_langchain_calls_tools(self):
        self.check("langchain_calls_tools", [["get_weather", {"city": "Oslo"}]])

    def test_vercel_responses_answer_and_stream_with_every_format_behind(self):
        self.check("vercel_responses_answer_and_stream_with_every_format_behind",
                   each([HELLO, HELLO]))

    def test_vercel_responses_refer_to_items_of_earlier_answers(self):
        self.check("vercel_responses_refer_to_items_of_earlier_answers", hears(3, "two"))

    def test_vercel_responses_continue_by_id(self):
        self.check("vercel_responses_continue_by_id", hears(3, "two"))

    def test_vercel_responses_use_tools_with_every_format_behind(self):
        text = "The tool said rain."
        self.check("vercel_responses_use_tools_with_every_format_behind",
                   each([text, text, ["Oslo", "Oslo"]]))

    def test_vercel_responses_remember_by_header_and_store_nothing_twice(self):
        self.check("vercel_responses_remember_by_header",
                   {name: ["The tool said rain.", True, 3 + 3 * items]
                    for name, items in ITEMS.items()})

    def test_vercel_responses_use_tools_in_a_conversation_and_store_nothing_twice(self):
        text = "The tool said rain."
        self.check("vercel_responses_use_tools_in_a_conversation",
                   {name: [text, text, 4 + 4 * items] for name, items in ITEMS.items()})

    def test_langchain_responses_answer_and_stream(self):
        self.check("langchain_responses_answer_and_stream",
                   [hears(1, "one"), hears(3, "two"), HELLO])

    def test_openai_6_uses_responses_and_conversations(self):
        self.check("openai_6_uses_responses_and_conversations",
                   [hears(1, "one"), hears(3, "two"), 4])


class PythonClients(Clients):
    find = CLIENTS.python

    def test_openai_answers_and_streams_with_every_format_behind(self):
        self.check("openai_answers_and_streams", each([HELLO, HELLO, 16]))

    def test_openai_streams_tool_calls_through_the_stream_helper(self):
        self.check("openai_stream_helper", each(["get_weather", '{"city":"Oslo"}']))

    def test_openai_sends_its_whole_history_and_it_is_stored_once(self):
        self.check("openai_sends_its_whole_history",
                   {name: [hears(5 + 2 * (items - 1), "three"), 3 + 3 * items]
                    for name, items in ITEMS.items()})

    def test_openai_retries_by_itself_and_nothing_is_said_twice(self):
        self.check("openai_retries_and_nothing_is_said_twice", [hears(1, "flaky python"), 2])

    def test_openai_joins_a_turn_that_still_runs(self):
        self.check("openai_joins_a_turn_that_runs", [hears(1, "late python"), 2])

    def test_openai_keeps_completions(self):
        self.check("openai_keeps_completions",
                   [[True], ["kept"], {"who": "nobody"}, True, ["NotFoundError", 404]])

    def test_openai_lists_models_and_embeds(self):
        self.check("openai_lists_models_and_embeds", [NAMES, [0.5, 0.25]])

    def test_openai_parses_structured_output(self):
        self.check("openai_parses_structured_output", 7)

    def test_anthropic_answers_and_streams_with_every_format_behind(self):
        self.check("anthropic_answers_and_streams", each([HELLO, HELLO, "end_turn", 5]))

    def test_anthropic_uses_tools_in_a_conversation(self):
        self.check("anthropic_uses_tools_in_a_conversation",
                   {name: ["The tool said rain.", 2 + 2 * items] for name, items in ITEMS.items()})

    def test_anthropic_runs_tools_by_itself_without_a_thread(self):
        self.check("anthropic_runs_tools_by_itself",
                   {name: [RAIN, 2 + 2 * items] for name, items in ITEMS.items()})

    def test_anthropic_counts_and_is_told_what_is_wrong(self):
        self.check("anthropic_counts_and_is_told_what_is_wrong",
                   [True, ["NotFoundError", 404], ["BadRequestError", 400]])

    def test_anthropic_retries_by_itself_and_nothing_is_said_twice(self):
        self.check("anthropic_retries_and_nothing_is_said_twice",
                   [hears(1, "flaky claude in python"), 2])

    def test_langchain_answers_and_streams_with_every_format_behind(self):
        self.check("langchain_answers_and_streams", each([HELLO, HELLO]))

    def test_langchain_talks_in_a_conversation_and_calls_tools(self):
        self.check("langchain_talks_in_a_conversation", [hears(3, "two"), 4, [{"city": "Oslo"}]])

    def test_litellm_answers_and_streams_with_every_format_behind(self):
        self.check("litellm_answers_and_streams", each([HELLO, HELLO]))

    def test_litellm_talks_in_a_conversation(self):
        self.check("litellm_talks_in_a_conversation", [hears(3, "two"), 4])

    def test_litellm_speaks_anthropic(self):
        self.check("litellm_speaks_anthropic", [HELLO, HELLO])

    def test_langchain_responses_answer_and_stream(self):
        self.check("langchain_responses_answer_and_stream",
                   [hears(1, "one"), hears(3, "two"), HELLO])


del Clients  # It has no scenes of its own.

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
