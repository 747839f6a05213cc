"""Unmodified clients for Python against /v1/chat/completions and /v1/messages. Every scene gives
what it saw; gateway_clients_test.py says what it should have seen.

usage: gateway_clients.py BASE_URL
"""
import json
import sys
import traceback
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import anthropic
import litellm
import openai
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

from gateway_responses import langchain_responses_answer_and_stream  # noqa: F401: a scene

URL = sys.argv[1]
ROOT = URL.removesuffix("/v1")
BEHIND = {"openai_chat": "gpt-4.1", "openai_responses": "gpt-5", "anthropic": "gpt-4o"}
MODEL = BEHIND["openai_chat"]
WEATHER = {"name": "get_weather", "description": "the weather",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
litellm.telemetry = False


def inside(name):
    return {"X-Conversation-Id": name} if name else {}


def openai_client(name=None):
    return openai.OpenAI(base_url=URL, api_key="any", default_headers=inside(name))


def anthropic_client(name=None):
    return anthropic.Anthropic(base_url=ROOT, api_key="any", default_headers=inside(name))


def user(text):
    return {"role": "user", "content": text}


def assistant(content):
    return {"role": "assistant", "content": content}


def log(name):
    with urllib.request.urlopen(f"{ROOT}/api/v1/conversations/{name}/messages") as reply:
        return len(json.load(reply)["data"])


def each(see):
    return {format: see(model, format) for format, model in BEHIND.items()}


def fault(call, *words, **options):
    try:
        call(*words, **options)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return [type(error).__name__, error.status_code]
    return "none"


# ---- openai --------------------------------------------------------------------------------------

def openai_answers_and_streams():
    def see(model, _):
        made = openai_client().chat.completions.create(model=model, messages=[user("Hello")])
        text, usage = "", None
        for chunk in openai_client().chat.completions.create(
                model=model, messages=[user("Hello")], stream=True,
                stream_options={"include_usage": True}):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            usage = chunk.usage.total_tokens if chunk.usage else usage
        return [made.choices[0].message.content, text, usage]
    return each(see)


def openai_stream_helper():
    def see(model, _):
        with openai_client().chat.completions.stream(
                model=model, messages=[user("the weather?")],
                tools=[{"type": "function", "function": {**WEATHER, "strict": True}}]) as stream:
            stream.until_done()
            message = stream.get_final_completion().choices[0].message
        return [message.tool_calls[0].function.name, message.tool_calls[0].function.arguments]
    return each(see)


def openai_sends_its_whole_history():
    def see(model, format):
        name, history = f"py-whole-{format}", []
        for text in ("one", "two", "three"):
            history.append(user(text))
            made = openai_client(name).chat.completions.create(model=model, messages=history)
            history.append(made.choices[0].message.to_dict())
        return [history[-1]["content"], log(name)]
    return each(see)


def openai_retries_and_nothing_is_said_twice():
    client = openai_client("py-retried")
    made = client.chat.completions.create(model=MODEL, messages=[user("flaky python")])
    return [made.choices[0].message.content, log("py-retried")]


def openai_joins_a_turn_that_runs():
    client = openai_client("py-joined").with_options(timeout=0.5, max_retries=3)
    made = client.chat.completions.create(model=MODEL, messages=[user("late python")])
    return [made.choices[0].message.content, log("py-joined")]


def openai_keeps_completions():
    completions = openai_client().chat.completions
    made = completions.create(model=MODEL, messages=[user("kept")], store=True,
                              metadata={"who": "python"})
    found = list(completions.list(metadata={"who": "python"}))
    asked = list(completions.messages.list(made.id))
    changed = completions.update(made.id, metadata={"who": "nobody"})
    gone = completions.delete(made.id)
    return [[one.id == made.id for one in found], [one.content for one in asked], changed.metadata,
            gone.deleted, fault(completions.retrieve, made.id)]


def openai_lists_models_and_embeds():
    client = openai_client()
    made = client.embeddings.create(model=MODEL, input="x", encoding_format="float")
    return [sorted(one.id for one in client.models.list()), made.data[0].embedding]


def openai_parses_structured_output():
    import pydantic

    class Shape(pydantic.BaseModel):
        n: int
    made = openai_client().chat.completions.parse(model=MODEL, messages=[user("give json")],
                                                  response_format=Shape)
    return made.choices[0].message.parsed.n


# ---- anthropic -----------------------------------------------------------------------------------

def anthropic_answers_and_streams():
    def see(model, _):
        ask = {"model": model, "max_tokens": 50, "messages": [user("Hello")]}
        made = anthropic_client().messages.create(**ask)
        with anthropic_client().messages.stream(**ask) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        return [made.content[0].text, text, final.stop_reason, final.usage.output_tokens]
    return each(see)


def anthropic_uses_tools_in_a_conversation():
    def see(model, format):
        name = f"py-claude-{format}"
        client, messages = anthropic_client(name), [user("the weather?")]
        tools = [{"name": "get_weather", "input_schema": WEATHER["parameters"]}]
        first = client.messages.create(model=model, max_tokens=50, tools=tools, messages=messages)
        use = next(block for block in first.content if block.type == "tool_use")
        messages += [assistant([block.to_dict() for block in first.content]),
                     user([{"type": "tool_result", "tool_use_id": use.id, "content": "rain"}])]
        second = client.messages.create(model=model, max_tokens=50, tools=tools, messages=messages)
        return [second.content[0].text, log(name)]
    return each(see)


def anthropic_runs_tools_by_itself():
    """It begins with a thread, which is kept nowhere here, and goes on with its whole history."""
    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather."""
        return f"rain in {city}"

    def see(model, format):
        name = f"py-runner-{format}"
        final = anthropic_client(name).beta.messages.tool_runner(
            model=model, max_tokens=50, tools=[get_weather],
            messages=[user("the weather?")]).until_done()
        return [final.content[0].text, log(name)]
    return each(see)


def anthropic_counts_and_is_told_what_is_wrong():
    client = anthropic_client()
    counted = client.messages.count_tokens(model=MODEL, messages=[user("Hello")])
    create = client.messages.create
    return [counted.input_tokens > 0,
            fault(create, model="claude-9", max_tokens=5, messages=[user("x")]),
            fault(create, model=MODEL, max_tokens=5, messages=[])]


def anthropic_retries_and_nothing_is_said_twice():
    made = anthropic_client("py-claude-retried").messages.create(
        model=MODEL, max_tokens=50, messages=[user("flaky claude in python")])
    return [made.content[0].text, log("py-claude-retried")]


# ---- LangChain, LiteLLM --------------------------------------------------------------------------

def langchain_answers_and_streams():
    def see(model, _):
        chat = ChatOpenAI(model=model, api_key="any", base_url=URL)
        return [chat.invoke("Hello").content, "".join(c.content for c in chat.stream("Hello"))]
    return each(see)


def langchain_talks_in_a_conversation():
    chat = ChatOpenAI(model=MODEL, api_key="any", base_url=URL,
                      default_headers=inside("py-chain"))
    first = chat.invoke([HumanMessage("one")])
    second = chat.invoke([HumanMessage("one"), AIMessage(first.content), HumanMessage("two")])
    calls = ChatOpenAI(model=MODEL, api_key="any", base_url=URL).bind_tools(
        [{"type": "function", "function": WEATHER}]).invoke("the weather?").tool_calls
    return [second.content, log("py-chain"), [call["args"] for call in calls]]


def litellm_answers_and_streams():
    def see(model, _):
        ask = {"model": "openai/" + model, "api_base": URL, "api_key": "any",
               "messages": [user("Hello")]}
        made = litellm.completion(**ask)
        text = "".join(chunk.choices[0].delta.content or ""
                       for chunk in litellm.completion(**ask, stream=True))
        return [made.choices[0].message.content, text]
    return each(see)


def litellm_talks_in_a_conversation():
    ask = {"model": "openai/" + MODEL, "api_base": URL, "api_key": "any",
           "extra_headers": inside("py-lite")}
    first = litellm.completion(messages=[user("one")], **ask).choices[0].message
    second = litellm.completion(messages=[user("one"), first, user("two")], **ask)
    return [second.choices[0].message.content, log("py-lite")]


def litellm_speaks_anthropic():
    ask = {"model": "anthropic/" + MODEL, "api_base": ROOT, "api_key": "any",
           "messages": [user("Hello")]}
    made = litellm.completion(**ask)
    text = "".join(chunk.choices[0].delta.content or ""
                   for chunk in litellm.completion(**ask, stream=True))
    return [made.choices[0].message.content, text]


SCENES = [scene for name, scene in list(globals().items())
          if name.startswith(("openai_", "anthropic_", "langchain_", "litellm_"))
          and not name.endswith("_client")]


def play(scene):
    try:
        return scene.__name__, {"seen": scene()}
    except Exception:  # noqa: BLE001: whatever a client throws is what was seen
        return scene.__name__, {"error": traceback.format_exc()}


with ThreadPoolExecutor(4) as pool:
    print(json.dumps(dict(pool.map(play, SCENES))))
