/** Each use of the Vercel AI SDK, as one JSON object: case → what it made of the answer. */
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, embedMany, generateText, isStepCount, stepCountIs, streamText, tool } from "ai";
import { env } from "node:process";
import { z } from "zod";

const open = (name) =>
  createOpenAI({
    baseURL: `${env.LOCKPORT_URL}/v1`,
    apiKey: env.LOCKPORT_KEY,
    headers: { "x-proxy-tags": `case:ai-sdk-${name}` },
  });
const asked = (name, prompt, model = env.ALIAS) => ({ model: open(name).chat(model), prompt, maxRetries: 0 });
const toTokens = ({ inputTokens, outputTokens }) => [inputTokens, outputTokens];
const calls = [];
const tools = {
  weather: tool({
    inputSchema: z.object({ city: z.string(), days: z.number() }),
    execute: (input) => {
      calls.push({ name: "weather", arguments: input });
      return "20 degrees";
    },
  }),
};
const twoSteps = { tools, stopWhen: (isStepCount ?? stepCountIs)(2) };

async function unary() {
  const { text, usage } = await generateText(asked("unary", "greet me"));
  return { text, tokens: toTokens(usage) };
}

async function stream() {
  const result = streamText(asked("stream", "greet me"));
  const pieces = [];
  for await (const piece of result.textStream) pieces.push(piece);
  return { text: pieces.join(""), pieces: pieces.length, tokens: toTokens(await result.usage) };
}

async function useTools() {
  const { text } = await generateText({ ...asked("tools", "the weather, please"), ...twoSteps });
  return { ...calls.pop(), text };
}

async function streamTools() {
  const result = streamText({ ...asked("tools-stream", "the weather, please"), ...twoSteps });
  const text = await result.text;
  return { ...calls.pop(), text };
}

async function embed() {
  const { embeddings } = await embedMany({
    model: open("embeddings").embedding(env.EMBEDDER),
    values: ["three words here", "two more"],
  });
  return { count: embeddings.length, dimensions: embeddings[0].length };
}

async function failing(call) {
  try {
    await call();
    return { name: "none" };
  } catch (error) {
    const name = APICallError.isInstance(error) ? "APICallError" : error.constructor.name;
    return { name, status: error.statusCode, message: error.message };
  }
}

console.log(
  JSON.stringify({
    unary: await unary(),
    stream: await stream(),
    tools: await useTools(),
    "tools-stream": await streamTools(),
    embeddings: await embed(),
    "unknown-model": await failing(() => generateText(asked("unknown-model", "greet me", "nope"))),
    "upstream-error": await failing(() => generateText(asked("upstream-error", "too fast"))),
    responses: await failing(() =>
      generateText({ ...asked("responses", "greet me"), model: open("responses")(env.ALIAS) }),
    ),
  }),
);
