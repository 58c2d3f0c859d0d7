/** OpenAI Agents for TypeScript. Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY. */
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { env } from "node:process";
import { z } from "zod";

// Traces go to OpenAI itself, whatever the base URL.
setTracingDisabled(true);
const calls = [];
const weather = tool({
  name: "weather",
  description: "What the weather is.",
  parameters: z.object({ city: z.string(), days: z.number() }),
  execute: (input) => {
    calls.push(input);
    return "20 degrees";
  },
});
const plain = new Agent({ name: "Greeter", model: env.MODEL });
const equipped = new Agent({ name: "Forecaster", model: env.MODEL, tools: [weather] });

async function stream(agent, question) {
  const result = await run(agent, question, { stream: true });
  await result.completed;
  return result.finalOutput;
}

console.log(
  JSON.stringify({
    unary: (await run(plain, env.GREET)).finalOutput,
    stream: await stream(plain, env.GREET),
    tools: (await run(equipped, env.USE_TOOL)).finalOutput,
    "tools-stream": await stream(equipped, env.USE_TOOL),
    calls,
  }),
);
