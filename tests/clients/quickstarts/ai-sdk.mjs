/** The Vercel AI SDK with the first lines of its quickstart. Address and key come from its variables; API says which of them. */
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { env } from "node:process";
import { z } from "zod";

const open = { chat: openai.chat, responses: openai, messages: anthropic };
const model = open[env.API](env.MODEL);
const calls = [];
const tools = {
  weather: tool({
    inputSchema: z.object({ city: z.string(), days: z.number() }),
    execute: (input) => {
      calls.push(input);
      return "20 degrees";
    },
  }),
};
const useTool = { model, prompt: env.USE_TOOL, tools, stopWhen: isStepCount(2), maxRetries: 0 };
const greet = { model, prompt: env.GREET, maxRetries: 0 };

console.log(
  JSON.stringify({
    unary: (await generateText(greet)).text,
    stream: await streamText(greet).text,
    tools: (await generateText(useTool)).text,
    "tools-stream": await streamText(useTool).text,
    calls,
  }),
);
