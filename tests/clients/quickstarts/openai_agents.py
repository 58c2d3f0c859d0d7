"""OpenAI Agents for Python. Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY."""

import asyncio
import json
import os

from agents import Agent, Runner, function_tool, set_tracing_disabled

# Traces go to OpenAI itself, whatever the base URL.
set_tracing_disabled(True)
calls = []


@function_tool
def weather(city: str, days: int) -> str:
    """What the weather is."""
    calls.append({"city": city, "days": days})
    return "20 degrees"


plain = Agent(name="Greeter", model=os.environ["MODEL"])
equipped = Agent(name="Forecaster", model=os.environ["MODEL"], tools=[weather])


async def stream(agent, question):
    run = Runner.run_streamed(agent, question)
    async for _ in run.stream_events():
        pass
    return run.final_output


async def main():
    greet, use_tool = os.environ["GREET"], os.environ["USE_TOOL"]
    return {
        "unary": (await Runner.run(plain, greet)).final_output,
        "stream": await stream(plain, greet),
        "tools": (await Runner.run(equipped, use_tool)).final_output,
        "tools-stream": await stream(equipped, use_tool),
        "calls": calls,
    }


print(json.dumps(asyncio.run(main())))
