"""Each use of the OpenAI SDK for Python, as one JSON object: case -> what the SDK made of the answer."""

import json
import os

from openai import APIStatusError, OpenAI

client = OpenAI(
    base_url=os.environ["LOCKPORT_URL"] + "/v1",
    api_key=os.environ["LOCKPORT_KEY"],
    max_retries=0,
)
MODEL = os.environ["ALIAS"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


def say(text):
    return [{"role": "user", "content": text}]


def tag(case):
    return {"x-proxy-tags": f"case:openai-python-{case}"}


def tokens(usage):
    return [usage.prompt_tokens, usage.completion_tokens]


def unary():
    answer = client.chat.completions.create(model=MODEL, messages=say("greet me"), extra_headers=tag("unary"))
    return {"text": answer.choices[0].message.content, "tokens": tokens(answer.usage)}


def stream():
    pieces, usage = [], None
    for chunk in client.chat.completions.create(
        model=MODEL, messages=say("greet me"), stream=True, extra_headers=tag("stream")
    ):
        usage = chunk.usage or usage
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
    return {"text": "".join(pieces), "pieces": len(pieces), "tokens": tokens(usage)}


def tools():
    messages = say("the weather, please")
    first = client.chat.completions.create(
        model=MODEL, messages=messages, tools=TOOLS, extra_headers=tag("tools")
    )
    message = first.choices[0].message
    call = message.tool_calls[0]
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "20 degrees"}]
    second = client.chat.completions.create(
        model=MODEL, messages=messages, tools=TOOLS, extra_headers=tag("tools")
    )
    return {
        "name": call.function.name,
        "arguments": json.loads(call.function.arguments),
        "text": second.choices[0].message.content,
    }


def tools_stream():
    with client.chat.completions.stream(
        model=MODEL, messages=say("the weather, please"), tools=TOOLS, extra_headers=tag("tools-stream")
    ) as events:
        call = events.get_final_completion().choices[0].message.tool_calls[0]
    return {"name": call.function.name, "arguments": json.loads(call.function.arguments)}


def embeddings():
    answer = client.embeddings.create(
        model=os.environ["EMBEDDER"], input=["three words here", "two more"], extra_headers=tag("embeddings")
    )
    return {"count": len(answer.data), "dimensions": len(answer.data[0].embedding)}


def models():
    return {"ids": [model.id for model in client.models.list()]}


def failing(call):
    try:
        call()
    except APIStatusError as error:
        return {"name": type(error).__name__, "status": error.status_code, "message": str(error)}
    return {"name": "none"}


def main():
    chat = client.chat.completions.create
    print(
        json.dumps(
            {
                "unary": unary(),
                "stream": stream(),
                "tools": tools(),
                "tools-stream": tools_stream(),
                "embeddings": embeddings(),
                "models": models(),
                "unknown-model": failing(
                    lambda: chat(model="nope", messages=say("greet me"), extra_headers=tag("unknown-model"))
                ),
                "upstream-error": failing(
                    lambda: chat(model=MODEL, messages=say("too fast"), extra_headers=tag("upstream-error"))
                ),
                "responses": failing(lambda: client.responses.create(model=MODEL, input="greet me")),
                "no-key": failing(
                    lambda: client.with_options(api_key="lp_nobody").chat.completions.create(
                        model=MODEL, messages=say("greet me")
                    )
                ),
            }
        )
    )


main()
