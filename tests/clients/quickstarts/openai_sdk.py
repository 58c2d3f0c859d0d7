"""The OpenAI SDK for Python: chat completions, or the Responses API. Address and key come from its variables."""

import json
import os

from openai import OpenAI

client = OpenAI()
API, MODEL = os.environ["API"], os.environ["MODEL"]
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "number"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
calls = []


def complete(streamed, **request):
    completions = client.chat.completions
    if not streamed:
        return completions.create(model=MODEL, **request).choices[0].message
    with completions.stream(model=MODEL, **request) as events:
        return events.get_final_completion().choices[0].message


def chat(question, streamed, with_tool):
    messages = [{"role": "user", "content": question}]
    if not with_tool:
        return complete(streamed, messages=messages).content
    tools = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
    message = complete(streamed, messages=messages, tools=tools)
    call = message.tool_calls[0]
    calls.append(json.loads(call.function.arguments))
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "20 degrees"}]
    return complete(streamed, messages=messages, tools=tools).content


def respond(streamed, **request):
    if not streamed:
        return client.responses.create(model=MODEL, **request)
    with client.responses.stream(model=MODEL, **request) as events:
        return events.get_final_response()


def responses(question, streamed, with_tool):
    if not with_tool:
        return respond(streamed, input=question).output_text
    tools = [{"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}]
    asked = [{"role": "user", "content": question}]
    first = respond(streamed, input=asked, tools=tools)
    call = next(item for item in first.output if item.type == "function_call")
    calls.append(json.loads(call.arguments))
    asked += [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
        {"type": "function_call_output", "call_id": call.call_id, "output": "20 degrees"},
    ]
    return respond(streamed, input=asked, tools=tools).output_text


ask = chat if API == "chat" else responses
greet, use_tool = os.environ["GREET"], os.environ["USE_TOOL"]
print(
    json.dumps(
        {
            "unary": ask(greet, False, False),
            "stream": ask(greet, True, False),
            "tools": ask(use_tool, False, True),
            "tools-stream": ask(use_tool, True, True),
            "calls": calls,
        }
    )
)
