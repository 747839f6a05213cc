"""Unmodified clients of OpenAI for Python against /v1/responses and /v1/conversations. Every scene
gives what it saw; responses_clients_test.py says what it should have seen.

usage: responses_clients.py BASE_URL
"""
import asyncio
import json
import sys
import time
import traceback

import agents
import openai

URL = sys.argv[1]
MODEL = "gpt-4.1"
BEHIND = {"openai_chat": "gpt-4.1", "openai_responses": "gpt-5", "anthropic": "gpt-4o"}
client = openai.OpenAI(base_url=URL, api_key="any")
aclient = openai.AsyncOpenAI(base_url=URL, api_key="any")
agents.set_default_openai_client(aclient, use_for_tracing=False)
agents.set_tracing_disabled(True)


def texts(items):
    return [part.text for item in items for part in getattr(item, "content", None) or []]


def status(call, *words, **options):
    try:
        call(*words, **options)
    except openai.APIStatusError as error:
        return error.status_code
    return 200


def answers_and_is_read_again():
    made = client.responses.create(model=MODEL, input="Hello", instructions="Be brief.")
    read = client.responses.retrieve(made.id)
    return [made.output_text, read.output_text, made.usage.total_tokens]


def streams_through_the_stream_helper():
    seen = {}
    for name, model in BEHIND.items():
        with client.responses.stream(model=model, input="Hello") as stream:
            text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
            seen[name] = [text, stream.get_final_response().output_text]
    return seen


def resumes_a_stream_that_was_cut():
    stream = client.responses.create(model=MODEL, input="slow", background=True, stream=True)
    text, made, last = "", None, -1
    for event in stream:
        made = event.response.id if event.type == "response.created" else made
        text += event.delta if event.type == "response.output_text.delta" else ""
        last = event.sequence_number
        if last >= 8:
            break
    stream.close()
    first = None
    for event in client.responses.retrieve(made, stream=True, starting_after=last):
        first = event.sequence_number if first is None else first
        text += event.delta if event.type == "response.output_text.delta" else ""
    return [len(text.split(" ")), first - last]


def runs_in_the_background_and_is_polled():
    made = client.responses.create(model=MODEL, input="Hello", background=True)
    while made.status in ("queued", "in_progress"):
        time.sleep(0.03)
        made = client.responses.retrieve(made.id)
    return made.output_text


def pages_items_of_a_conversation():
    conversation = client.conversations.create(metadata={"a": "b"})
    for text in ("one", "two"):
        client.responses.create(model=MODEL, input=text, conversation={"id": conversation.id})
    listed = texts(client.conversations.items.list(conversation.id, limit=2, order="asc"))
    gone = client.conversations.delete(conversation.id)
    return [listed, gone.deleted, status(client.conversations.retrieve, conversation.id)]


def continues_after_a_deleted_response_is_refused():
    first = client.responses.create(model=MODEL, input="one")
    second = client.responses.create(model=MODEL, input="two", previous_response_id=first.id)
    client.responses.delete(first.id)
    return [second.output_text,
            status(client.responses.create, model=MODEL, input="x", previous_response_id=first.id)]


def counts_and_compacts():
    counted = client.responses.input_tokens.count(model="gpt-4.1-mini", input=[
        {"role": "user", "content": ""}], instructions="Follow the system instructions.")
    compacted = client.responses.compact(model=MODEL, input=[
        {"role": "user", "content": "My cat is Tom."}, {"role": "assistant", "content": "Noted."}])
    return [counted.input_tokens, [item.type for item in compacted.output]]


@agents.function_tool
def get_weather(city: str) -> str:
    return "rain in " + city


async def agents_use_tools_plain_and_streamed():
    agent = agents.Agent(name="a", instructions="Help.", model=MODEL, tools=[get_weather])
    plain = await agents.Runner.run(agent, "the weather?")
    streamed = agents.Runner.run_streamed(agent, "the weather?")
    async for _ in streamed.stream_events():
        pass
    return [plain.final_output, streamed.final_output]


async def agents_continue_by_response_and_by_conversation():
    agent = agents.Agent(name="a", model=MODEL)
    first = await agents.Runner.run(agent, "one")
    second = await agents.Runner.run(agent, "two", previous_response_id=first.last_response_id)
    conversation = await aclient.conversations.create()
    await agents.Runner.run(agent, "uno", conversation_id=conversation.id)
    other = await agents.Runner.run(agent, "due", conversation_id=conversation.id)
    return [second.final_output, other.final_output]


async def agents_keep_a_conversations_session():
    session = agents.OpenAIConversationsSession(openai_client=aclient)
    agent = agents.Agent(name="a", model=MODEL)
    await agents.Runner.run(agent, "one", session=session)
    second = await agents.Runner.run(agent, "two", session=session)
    items = await session.get_items()
    popped = await session.pop_item()
    left = await session.get_items()
    await session.clear_session()
    return [second.final_output, len(items), popped["role"], len(left)]


async def agents_keep_a_sqlite_session():
    session = agents.SQLiteSession("s")
    agent = agents.Agent(name="a", model=MODEL)
    await agents.Runner.run(agent, "one", session=session)
    return (await agents.Runner.run(agent, "two", session=session)).final_output


async def agents_compact_a_session():
    from agents.memory import OpenAIResponsesCompactionSession
    session = OpenAIResponsesCompactionSession(
        "s", client=aclient, model=MODEL, underlying_session=agents.SQLiteSession("c"))
    agent = agents.Agent(name="a", model=MODEL)
    await agents.Runner.run(agent, "My cat is Tom.", session=session)
    await agents.Runner.run(agent, "My dog is Rex.", session=session)
    await session.run_compaction({"force": True})
    kinds = [item.get("type", "message") for item in await session.get_items()]
    answer = await agents.Runner.run(agent, "Who is Tom?", session=session)
    return [kinds, answer.final_output.split(": ")[1]]


SCENES = [answers_and_is_read_again, streams_through_the_stream_helper,
          resumes_a_stream_that_was_cut, runs_in_the_background_and_is_polled,
          pages_items_of_a_conversation, continues_after_a_deleted_response_is_refused,
          counts_and_compacts, agents_use_tools_plain_and_streamed,
          agents_continue_by_response_and_by_conversation, agents_keep_a_conversations_session,
          agents_keep_a_sqlite_session, agents_compact_a_session]


async def main():
    seen = {}
    for scene in SCENES:
        try:
            result = scene()
            seen[scene.__name__] = {"seen": await result if asyncio.iscoroutine(result) else result}
        except Exception:  # noqa: whatever it is, the test shows it
            seen[scene.__name__] = {"error": traceback.format_exc()[-1500:]}
    print(json.dumps(seen))

asyncio.run(main())
