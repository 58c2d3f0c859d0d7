/** LangChain for TypeScript: chat completions, the Responses API, or Anthropic's messages. Address and key come from its variables. */
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { env } from "node:process";
import { z } from "zod";

const model =
  env.API === "messages"
    ? new ChatAnthropic({ model: env.MODEL, anthropicApiUrl: env.ANTHROPIC_BASE_URL, maxRetries: 0 })
    : new ChatOpenAI({ model: env.MODEL, useResponsesApi: env.API === "responses", maxRetries: 0 });
const weather = tool(() => "20 degrees", {
  name: "weather",
  schema: z.object({ city: z.string(), days: z.number() }),
});
const calls = [];

async function ask(asked, messages, isStreamed) {
  if (!isStreamed) return asked.invoke(messages);
  let whole;
  for await (const chunk of await asked.stream(messages))
    whole = whole === undefined ? chunk : whole.concat(chunk);
  return whole;
}

async function greet(isStreamed) {
  return (await ask(model, [new HumanMessage(env.GREET)], isStreamed)).text;
}

async function useTool(isStreamed) {
  const asked = model.bindTools([weather]);
  const messages = [new HumanMessage(env.USE_TOOL)];
  const first = await ask(asked, messages, isStreamed);
  const [call] = first.tool_calls;
  calls.push(call.args);
  messages.push(first, new ToolMessage({ content: await weather.invoke(call.args), tool_call_id: call.id }));
  return (await ask(asked, messages, isStreamed)).text;
}

console.log(
  JSON.stringify({
    unary: await greet(false),
    stream: await greet(true),
    tools: await useTool(false),
    "tools-stream": await useTool(true),
    calls,
  }),
);
