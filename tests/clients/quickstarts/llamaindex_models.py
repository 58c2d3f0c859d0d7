"""LlamaIndex: chat completions, or the Responses API. Address and key come from its variables."""

import asyncio
import json
import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI, OpenAIResponses

# It has to be told the window of a model whose name it does not know.
kind = OpenAIResponses if os.environ["API"] == "responses" else OpenAI
known = {"context_window": 128_000} if os.environ["API"] == "responses" else {}


class Alias(kind):
    @property
    def metadata(self):
        from llama_index.core.base.llms.types import LLMMetadata

        return LLMMetadata(
            context_window=128_000, is_chat_model=True, is_function_calling_model=True, model_name=self.model
        )


llm = Alias(
    model=os.environ["MODEL"],
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    max_retries=0,
    **known,
)
calls = []


def weather(city: str, days: int) -> str:
    """What the weather is."""
    calls.append({"city": city, "days": days})
    return "20 degrees"


TOOL = FunctionTool.from_defaults(weather)


def last(chunks):
    for chunk in chunks:
        answer = chunk
    return answer


def greet(streamed):
    messages = [ChatMessage(role="user", content=os.environ["GREET"])]
    return (last(llm.stream_chat(messages)) if streamed else llm.chat(messages)).message.content


def use_tool(streamed):
    history = [ChatMessage(role="user", content=os.environ["USE_TOOL"])]

    def ask():
        if streamed:
            return last(llm.stream_chat_with_tools([TOOL], chat_history=history))
        return llm.chat_with_tools([TOOL], chat_history=history)

    first = ask()
    call = llm.get_tool_calls_from_response(first)[0]
    history.append(first.message)
    result = str(TOOL(**call.tool_kwargs))
    history.append(
        ChatMessage(
            role="tool", content=result, additional_kwargs={"tool_call_id": call.tool_id, "call_id": call.tool_id}
        )
    )
    return ask().message.content


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
