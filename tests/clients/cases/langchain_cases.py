"""Each use of LangChain for Python, as one JSON object: case -> what it made of the answer."""

import json
import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

COMMON = {
    "base_url": os.environ["LOCKPORT_URL"] + "/v1",
    "api_key": os.environ["LOCKPORT_KEY"],
    "max_retries": 0,
}


@tool
def weather(city: str, days: int) -> str:
    """The weather of a city."""
    return f"{city}: 20 degrees for {days} days"


def chat(case, model=os.environ["ALIAS"], **more):
    return ChatOpenAI(
        **COMMON,
        model=model,
        use_responses_api=False,
        default_headers={"x-proxy-tags": f"case:langchain-python-{case}"},
        **more,
    )


def tokens(message):
    return [message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"]]


def unary():
    answer = chat("unary").invoke("greet me")
    return {"text": answer.content, "tokens": tokens(answer)}


def stream():
    chunks = list(chat("stream").stream("greet me"))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    pieces = [chunk.content for chunk in chunks if chunk.content]
    return {"text": "".join(pieces), "pieces": len(pieces), "tokens": tokens(whole)}


def tools():
    model = chat("tools").bind_tools([weather])
    messages = [HumanMessage("the weather, please")]
    first = model.invoke(messages)
    call = first.tool_calls[0]
    messages += [first, ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])]
    return {"name": call["name"], "arguments": call["args"], "text": model.invoke(messages).content}


def tools_stream():
    whole = None
    for chunk in chat("tools-stream").bind_tools([weather]).stream("the weather, please"):
        whole = chunk if whole is None else whole + chunk
    call = whole.tool_calls[0]
    return {"name": call["name"], "arguments": call["args"]}


def embeddings():
    vectors = OpenAIEmbeddings(
        **COMMON,
        model=os.environ["EMBEDDER"],
        check_embedding_ctx_length=False,
        default_headers={"x-proxy-tags": "case:langchain-python-embeddings"},
    ).embed_documents(["three words here", "two more"])
    return {"count": len(vectors), "dimensions": len(vectors[0])}


def failing(call):
    try:
        call()
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        name = next((kind for kind in ("NotFoundError", "RateLimitError") if kind in kinds), kinds[0])
        return {"name": name, "status": getattr(error, "status_code", None), "message": str(error)}
    return {"name": "none"}


print(
    json.dumps(
        {
            "unary": unary(),
            "stream": stream(),
            "tools": tools(),
            "tools-stream": tools_stream(),
            "embeddings": embeddings(),
            "unknown-model": failing(lambda: chat("unknown-model", model="nope").invoke("greet me")),
            "upstream-error": failing(lambda: chat("upstream-error").invoke("too fast")),
        }
    )
)
