"""The Anthropic SDK for Python. Address and key come from ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY."""

import json
import os

from anthropic import Anthropic

client = Anthropic()
TOOLS = [
    {
        "name": "weather",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "number"}},
        },
    }
]
calls = []


def ask(messages, streamed, **more):
    request = {"model": os.environ["MODEL"], "max_tokens": 64, "messages": messages, **more}
    if not streamed:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        return events.get_final_message()


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def greet(streamed):
    return text(ask([{"role": "user", "content": os.environ["GREET"]}], streamed))


def use_tool(streamed):
    messages = [{"role": "user", "content": os.environ["USE_TOOL"]}]
    first = ask(messages, streamed, tools=TOOLS)
    call = next(block for block in first.content if block.type == "tool_use")
    calls.append(call.input)
    messages.append({"role": "assistant", "content": first.content})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "20 degrees"}
    messages.append({"role": "user", "content": [result]})
    return text(ask(messages, streamed, tools=TOOLS))


print(
    json.dumps(
        {
            "unary": greet(False),
            "stream": greet(True),
            "tools": use_tool(False),
            "tools-stream": use_tool(True),
            "calls": calls,
        }
    )
)
