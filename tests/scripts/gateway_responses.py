"""Scenes of gateway_clients.py about /v1/responses: frameworks that use it when told to."""
import sys

from langchain_openai import ChatOpenAI

URL = sys.argv[1]
MODEL = "gpt-4.1"


def langchain_responses_answer_and_stream():
    chat = ChatOpenAI(model=MODEL, api_key="any", base_url=URL,
                      use_responses_api=True, output_version="responses/v1")
    first = chat.invoke("one")
    second = chat.invoke("two", previous_response_id=first.response_metadata["id"])
    streamed = "".join(chunk.text for chunk in chat.stream("Hello"))
    return [first.text, second.text, streamed]

