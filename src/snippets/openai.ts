import {
  PASSAGE,
  QUESTION,
  toDialectUrl,
  toModel,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { quoteJson } from "./quote.ts";
import { toNodeSource, toPythonSource } from "./source.ts";

const LAST_CHUNK_NOTE = "The last chunk of a stream has no choices: it carries the usage.";
const RESPONSES_NOTE = "Call chat.completions: client.responses is the Responses API, which is not served.";

export const OPENAI_PYTHON: SnippetClient = {
  id: "openai-python",
  name: "OpenAI SDK for Python",
  kind: "openai",
  language: "python",
  file: "example.py",
  install: "pip install openai",
  snippets: {
    chat: (subject) =>
      toPython(subject, [
        "completion = client.chat.completions.create(",
        `    model=${quoteJson(toModel(subject))},`,
        `    messages=[{"role": "user", "content": ${quoteJson(QUESTION)}}],`,
        ")",
        "print(completion.choices[0].message.content)",
      ]),
    stream: (subject) =>
      toPython(subject, [
        "stream = client.chat.completions.create(",
        `    model=${quoteJson(toModel(subject))},`,
        `    messages=[{"role": "user", "content": ${quoteJson(QUESTION)}}],`,
        "    stream=True,",
        ")",
        "for chunk in stream:",
        "    if chunk.choices:",
        '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
        "print()",
      ]),
    embeddings: (subject) =>
      toPython(subject, [
        "answer = client.embeddings.create(",
        `    model=${quoteJson(toModel(subject))},`,
        `    input=${quoteJson(PASSAGE)},`,
        ")",
        "print(len(answer.data[0].embedding))",
      ]),
  },
  notes: [LAST_CHUNK_NOTE, RESPONSES_NOTE],
};

export const OPENAI_NODE: SnippetClient = {
  id: "openai-node",
  name: "OpenAI SDK for TypeScript",
  kind: "openai",
  language: "typescript",
  file: "example.ts",
  install: "npm install openai",
  snippets: {
    chat: (subject) =>
      toNode(subject, [
        "const completion = await client.chat.completions.create({",
        `  model: ${quoteJson(toModel(subject))},`,
        `  messages: [{ role: "user", content: ${quoteJson(QUESTION)} }],`,
        "});",
        "console.log(completion.choices[0]?.message.content);",
      ]),
    stream: (subject) =>
      toNode(
        subject,
        [
          "const stream = await client.chat.completions.create({",
          `  model: ${quoteJson(toModel(subject))},`,
          `  messages: [{ role: "user", content: ${quoteJson(QUESTION)} }],`,
          "  stream: true,",
          "});",
          'for await (const chunk of stream) stdout.write(chunk.choices[0]?.delta.content ?? "");',
          String.raw`stdout.write("\n");`,
        ],
        { writes: true },
      ),
    embeddings: (subject) =>
      toNode(subject, [
        "const answer = await client.embeddings.create({",
        `  model: ${quoteJson(toModel(subject))},`,
        `  input: ${quoteJson(PASSAGE)},`,
        "});",
        "console.log(answer.data[0]?.embedding.length);",
      ]),
  },
  notes: [LAST_CHUNK_NOTE, RESPONSES_NOTE],
};

function toPython(subject: SnippetSubject, call: readonly string[]): string {
  return toPythonSource(subject, {
    kind: "openai",
    imports: ["from openai import OpenAI"],
    toLines: (secret) => [
      "client = OpenAI(",
      `    base_url=${quoteJson(toDialectUrl(subject))},`,
      `    api_key=${secret},`,
      ")",
      "",
      ...call,
    ],
  });
}

function toNode(subject: SnippetSubject, call: readonly string[], { writes = false } = {}): string {
  return toNodeSource(subject, {
    kind: "openai",
    writes,
    imports: ['import OpenAI from "openai";'],
    toLines: (secret) => [
      "const client = new OpenAI({",
      `  baseURL: ${quoteJson(toDialectUrl(subject))},`,
      `  apiKey: ${secret},`,
      "});",
      "",
      ...call,
    ],
  });
}
