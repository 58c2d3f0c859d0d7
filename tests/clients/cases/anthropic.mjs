/** Each use of the Anthropic SDK for TypeScript through the relay, as one JSON object. */
import Anthropic from "@anthropic-ai/sdk";
import { env } from "node:process";

const open = (token) =>
  new Anthropic({ baseURL: `${env.LOCKPORT_URL}/transparent/messages/${token}`, maxRetries: 0 });
const client = open(env.LOCKPORT_RELAY_TOKEN);
const tools = [
  { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } },
];
const ask = (content) => ({
  model: env.RELAY_MODEL,
  max_tokens: 64,
  messages: [{ role: "user", content }],
});
const tag = (name) => ({ headers: { "x-proxy-tags": `case:anthropic-node-${name}` } });
const toText = ({ content }) => content.map((block) => (block.type === "text" ? block.text : "")).join("");
const toTokens = ({ usage }) => [usage.input_tokens, usage.output_tokens];
const toCall = ({ content }) => {
  const { id, name, input } = content.find(({ type }) => type === "tool_use");
  return { id, name, arguments: input };
};

async function unary() {
  const message = await client.messages.create(ask("greet me"), tag("unary"));
  return { text: toText(message), tokens: toTokens(message) };
}

async function stream() {
  const pieces = [];
  const events = client.messages.stream(ask("greet me"), tag("stream"));
  events.on("text", (piece) => void pieces.push(piece));
  const message = await events.finalMessage();
  return { text: pieces.join(""), pieces: pieces.length, tokens: toTokens(message) };
}

async function useTools() {
  const question = { ...ask("the weather, please"), tools };
  const first = await client.messages.create(question, tag("tools"));
  const { id, ...call } = toCall(first);
  const result = [{ type: "tool_result", tool_use_id: id, content: "20 degrees" }];
  const messages = [
    ...question.messages,
    { role: "assistant", content: first.content },
    { role: "user", content: result },
  ];
  return { ...call, text: toText(await client.messages.create({ ...question, messages }, tag("tools"))) };
}

async function streamTools() {
  const events = client.messages.stream({ ...ask("the weather, please"), tools }, tag("tools-stream"));
  const { name, arguments: input } = toCall(await events.finalMessage());
  return { name, arguments: input };
}

async function failing(call) {
  try {
    await call();
    return { name: "none" };
  } catch (error) {
    return { name: error.constructor.name, status: error.status, message: error.message };
  }
}

console.log(
  JSON.stringify({
    unary: await unary(),
    stream: await stream(),
    tools: await useTools(),
    "tools-stream": await streamTools(),
    "upstream-error": await failing(() => client.messages.create(ask("too fast"), tag("upstream-error"))),
    "unknown-token": await failing(() => open("lpt_nobody").messages.create(ask("greet me"))),
  }),
);
