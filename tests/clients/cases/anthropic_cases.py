"""Each use of the Anthropic SDK for Python through the relay, as one JSON object."""

import json
import os

from anthropic import Anthropic, APIStatusError

client = Anthropic(
    base_url=os.environ["LOCKPORT_URL"] + "/transparent/messages/" + os.environ["LOCKPORT_RELAY_TOKEN"],
    max_retries=0,
)
MODEL = os.environ["RELAY_MODEL"]
TOOLS = [
    {
        "name": "weather",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]


def ask(text, case, **more):
    return {
        "model": MODEL,
        "max_tokens": 64,
        "messages": [{"role": "user", "content": text}],
        "extra_headers": {"x-proxy-tags": f"case:anthropic-python-{case}"},
        **more,
    }


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def tokens(message):
    return [message.usage.input_tokens, message.usage.output_tokens]


def tool_use(message):
    return next(block for block in message.content if block.type == "tool_use")


def unary():
    message = client.messages.create(**ask("greet me", "unary"))
    return {"text": text(message), "tokens": tokens(message)}


def stream():
    with client.messages.stream(**ask("greet me", "stream")) as events:
        pieces = list(events.text_stream)
        message = events.get_final_message()
    return {"text": "".join(pieces), "pieces": len(pieces), "tokens": tokens(message)}


def tools():
    question = ask("the weather, please", "tools", tools=TOOLS)
    first = client.messages.create(**question)
    call = tool_use(first)
    question["messages"] += [
        {"role": "assistant", "content": first.content},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "20 degrees"}],
        },
    ]
    return {"name": call.name, "arguments": call.input, "text": text(client.messages.create(**question))}


def tools_stream():
    with client.messages.stream(**ask("the weather, please", "tools-stream", tools=TOOLS)) as events:
        call = tool_use(events.get_final_message())
    return {"name": call.name, "arguments": call.input}


def failing(call):
    try:
        call()
    except APIStatusError as error:
        return {"name": type(error).__name__, "status": error.status_code, "message": str(error)}
    return {"name": "none"}


stranger = Anthropic(base_url=os.environ["LOCKPORT_URL"] + "/transparent/messages/lpt_nobody", max_retries=0)
print(
    json.dumps(
        {
            "unary": unary(),
            "stream": stream(),
            "tools": tools(),
            "tools-stream": tools_stream(),
            "upstream-error": failing(lambda: client.messages.create(**ask("too fast", "upstream-error"))),
            "unknown-token": failing(lambda: stranger.messages.create(**ask("greet me", "unknown-token"))),
        }
    )
)
