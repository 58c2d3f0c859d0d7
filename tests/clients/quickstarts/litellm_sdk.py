"""LiteLLM's SDK: chat completions, the Responses API, or Anthropic's messages. Address and key come from its variables."""

import json
import os

import litellm

litellm.telemetry = False
API = os.environ["API"]
MODEL = ("anthropic/" if API == "messages" else "openai/") + os.environ["MODEL"]
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "number"}},
}
calls = []


def complete(messages, streamed, **more):
    answer = litellm.completion(model=MODEL, messages=messages, stream=streamed, num_retries=0, **more)
    return litellm.stream_chunk_builder(list(answer)) if streamed else answer


def chat(question, streamed, with_tool):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
    more = {"tools": tools} if with_tool else {}
    messages = [{"role": "user", "content": question}]
    message = complete(messages, streamed, **more).choices[0].message
    if not with_tool:
        return message.content
    call = message.tool_calls[0]
    calls.append(json.loads(call.function.arguments))
    messages += [
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "20 degrees"},
    ]
    return complete(messages, streamed, **more).choices[0].message.content


def respond(messages, streamed, **more):
    answer = litellm.responses(model=MODEL, input=messages, stream=streamed, **more)
    if not streamed:
        return answer
    return next(event.response for event in answer if event.type == "response.completed")


def responses(question, streamed, with_tool):
    tools = [{"type": "function", "name": "weather", "parameters": PARAMETERS}]
    more = {"tools": tools} if with_tool else {}
    messages = [{"role": "user", "content": question}]
    first = respond(messages, streamed, **more)
    if not with_tool:
        return first.output[0].content[0].text
    call = first.output[0]
    calls.append(json.loads(call.arguments))
    messages += [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
        {"type": "function_call_output", "call_id": call.call_id, "output": "20 degrees"},
    ]
    return respond(messages, streamed, **more).output[0].content[0].text


ask = responses if API == "responses" else chat
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
