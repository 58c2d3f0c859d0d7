import {
  PASSAGE,
  QUESTION,
  toDialectUrl,
  toModel,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { toNodeSource, quoteJson } from "./source.ts";

export const AI_SDK: SnippetClient = {
  id: "ai-sdk",
  name: "Vercel AI SDK",
  kind: "openai",
  language: "typescript",
  file: "example.ts",
  install: "npm install ai @ai-sdk/openai",
  snippets: {
    chat: (subject) =>
      toNode(subject, "generateText", [
        "const { text } = await generateText({",
        `  model: lockport.chat(${quoteJson(toModel(subject))}),`,
        `  prompt: ${quoteJson(QUESTION)},`,
        "});",
        "console.log(text);",
      ]),
    stream: (subject) =>
      toNode(
        subject,
        "streamText",
        [
          "const { textStream } = streamText({",
          `  model: lockport.chat(${quoteJson(toModel(subject))}),`,
          `  prompt: ${quoteJson(QUESTION)},`,
          "});",
          "for await (const text of textStream) stdout.write(text);",
          String.raw`stdout.write("\n");`,
        ],
        { writes: true },
      ),
    embeddings: (subject) =>
      toNode(subject, "embed", [
        "const { embedding } = await embed({",
        `  model: lockport.embedding(${quoteJson(toModel(subject))}),`,
        `  value: ${quoteJson(PASSAGE)},`,
        "});",
        "console.log(embedding.length);",
      ]),
    responses: (subject) =>
      toNode(subject, "generateText", [
        "const { text } = await generateText({",
        `  model: lockport(${quoteJson(toModel(subject))}),`,
        `  prompt: ${quoteJson(QUESTION)},`,
        "});",
        "console.log(text);",
      ]),
  },
  notes: [
    'lockport("…") alone calls the Responses API, which a model with the capability responses answers; lockport.chat("…") calls chat completions.',
  ],
};

export const AI_SDK_ANTHROPIC: SnippetClient = {
  id: "ai-sdk-anthropic",
  name: "Vercel AI SDK, Anthropic provider",
  kind: "openai",
  language: "typescript",
  file: "example.ts",
  install: "npm install ai @ai-sdk/anthropic",
  snippets: {
    messages: (subject) =>
      toNodeSource(subject, {
        kind: "openai",
        imports: [
          'import { createAnthropic } from "@ai-sdk/anthropic";',
          'import { generateText } from "ai";',
        ],
        toLines: (secret) => [
          "const lockport = createAnthropic({",
          `  baseURL: ${quoteJson(toDialectUrl(subject))},`,
          `  apiKey: ${secret},`,
          "});",
          "",
          "const { text } = await generateText({",
          `  model: lockport(${quoteJson(toModel(subject))}),`,
          `  prompt: ${quoteJson(QUESTION)},`,
          "});",
          "console.log(text);",
        ],
      }),
  },
  notes: ["This provider's base URL ends in /v1; Anthropic's own SDKs take the address alone."],
};

function toNode(
  subject: SnippetSubject,
  call: string,
  lines: readonly string[],
  { writes = false } = {},
): string {
  return toNodeSource(subject, {
    kind: "openai",
    writes,
    imports: ['import { createOpenAI } from "@ai-sdk/openai";', `import { ${call} } from "ai";`],
    toLines: (secret) => [
      "const lockport = createOpenAI({",
      `  baseURL: ${quoteJson(toDialectUrl(subject))},`,
      `  apiKey: ${secret},`,
      "});",
      "",
      ...lines,
    ],
  });
}
