"""Pydantic AI by its names of models: `openai:` or `anthropic:`. Address and key come from their variables."""

import asyncio
import json
import os

from pydantic_ai import Agent

vendor = "anthropic" if os.environ["API"] == "messages" else "openai"
agent = Agent(f"{vendor}:{os.environ['MODEL']}")
calls = []


@agent.tool_plain
def weather(city: str, days: int) -> str:
    """What the weather is."""
    calls.append({"city": city, "days": days})
    return "20 degrees"


async def stream(question):
    async with agent.run_stream(question) as answer:
        return await answer.get_output()


async def main():
    greet, use_tool = os.environ["GREET"], os.environ["USE_TOOL"]
    return {
        "unary": (await agent.run(greet)).output,
        "stream": await stream(greet),
        "tools": (await agent.run(use_tool)).output,
        "tools-stream": await stream(use_tool),
        "calls": calls,
    }


print(json.dumps(asyncio.run(main())))
