/** The Anthropic SDK for TypeScript. Address and key come from ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY. */
import Anthropic from "@anthropic-ai/sdk";
import { env } from "node:process";

const client = new Anthropic();
const tools = [
  {
    name: "weather",
    input_schema: { type: "object", properties: { city: { type: "string" }, days: { type: "number" } } },
  },
];
const calls = [];
const toText = ({ content }) => content.map((block) => (block.type === "text" ? block.text : "")).join("");

function ask(messages, isStreamed, more = {}) {
  const request = { model: env.MODEL, max_tokens: 64, messages, ...more };
  return isStreamed ? client.messages.stream(request).finalMessage() : client.messages.create(request);
}

async function greet(isStreamed) {
  return toText(await ask([{ role: "user", content: env.GREET }], isStreamed));
}

async function useTool(isStreamed) {
  const messages = [{ role: "user", content: env.USE_TOOL }];
  const { content } = await ask(messages, isStreamed, { tools });
  const { id, input } = content.find(({ type }) => type === "tool_use");
  calls.push(input);
  messages.push({ role: "assistant", content });
  messages.push({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content: "20 degrees" }],
  });
  return toText(await ask(messages, isStreamed, { tools }));
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
