"""The OpenAI SDK for Python on the Responses API. Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY."""

import json
import os

from openai import OpenAI

client = OpenAI()
MODEL = os.environ["MODEL"]
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "number"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}]
calls = []


def ask(streamed, **request):
    if not streamed:
        return client.responses.create(model=MODEL, **request)
    with client.responses.stream(model=MODEL, **request) as events:
        return events.get_final_response()


def greet(streamed):
    return ask(streamed, input=os.environ["GREET"]).output_text


def use_tool(streamed):
    asked = [{"role": "user", "content": os.environ["USE_TOOL"]}]
    first = ask(streamed, input=asked, tools=TOOLS)
    call = next(item for item in first.output if item.type == "function_call")
    calls.append(json.loads(call.arguments))
    asked.append(
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
    )
    asked.append({"type": "function_call_output", "call_id": call.call_id, "output": "20 degrees"})
    return ask(streamed, input=asked, tools=TOOLS).output_text


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
