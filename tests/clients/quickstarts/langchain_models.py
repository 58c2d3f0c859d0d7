"""LangChain for Python: chat completions, the Responses API, or Anthropic's messages. Address and key come from its variables."""

import json
import os

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

if os.environ["API"] == "messages":
    model = ChatAnthropic(model=os.environ["MODEL"], max_retries=0)
else:
    model = ChatOpenAI(model=os.environ["MODEL"], use_responses_api=os.environ["API"] == "responses", max_retries=0)
calls = []


@tool
def weather(city: str, days: int) -> str:
    """What the weather is."""
    calls.append({"city": city, "days": days})
    return "20 degrees"


def ask(asked, messages, streamed):
    if not streamed:
        return asked.invoke(messages)
    whole = None
    for chunk in asked.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


def greet(streamed):
    return ask(model, [HumanMessage(os.environ["GREET"])], streamed).text


def use_tool(streamed):
    asked = model.bind_tools([weather])
    messages = [HumanMessage(os.environ["USE_TOOL"])]
    first = ask(asked, messages, streamed)
    call = first.tool_calls[0]
    messages += [first, ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])]
    return ask(asked, messages, streamed).text


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
