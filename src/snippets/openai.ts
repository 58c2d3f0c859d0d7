import {
  PASSAGE,
  PICTURE,
  QUESTION,
  RECORDING,
  SENTENCE,
  toDialectUrl,
  toModel,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { toNodeSource, toPythonSource, quoteJson } from "./source.ts";

const LAST_CHUNK_NOTE = "The last chunk of a stream has no choices: it carries the usage.";
const RESPONSES_NOTE =
  "client.responses needs a model with the capability responses, client.chat.completions one with chat.";

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
    responses: (subject) =>
      toPython(subject, [
        "response = client.responses.create(",
        `    model=${quoteJson(toModel(subject))},`,
        `    input=${quoteJson(QUESTION)},`,
        ")",
        "print(response.output_text)",
      ]),
    transcription: (subject) =>
      toPython(subject, [
        `with open(${quoteJson(RECORDING)}, "rb") as recording:`,
        "    answer = client.audio.transcriptions.create(",
        `        model=${quoteJson(toModel(subject))},`,
        "        file=recording,",
        "    )",
        "print(answer.text)",
      ]),
    speech: (subject) =>
      toPython(subject, [
        "with client.audio.speech.with_streaming_response.create(",
        `    model=${quoteJson(toModel(subject))},`,
        '    voice="alloy",',
        `    input=${quoteJson(SENTENCE)},`,
        ") as speech:",
        '    speech.stream_to_file("speech.mp3")',
      ]),
    images: (subject) =>
      toPython(
        subject,
        [
          "answer = client.images.generate(",
          `    model=${quoteJson(toModel(subject))},`,
          `    prompt=${quoteJson(PICTURE)},`,
          ")",
          'with open("picture.png", "wb") as picture:',
          "    picture.write(b64decode(answer.data[0].b64_json))",
        ],
        ["from base64 import b64decode", ""],
      ),
    moderation: (subject) =>
      toPython(subject, [
        "answer = client.moderations.create(",
        `    model=${quoteJson(toModel(subject))},`,
        `    input=${quoteJson(PASSAGE)},`,
        ")",
        "print(answer.results[0].flagged)",
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
    responses: (subject) =>
      toNode(subject, [
        "const response = await client.responses.create({",
        `  model: ${quoteJson(toModel(subject))},`,
        `  input: ${quoteJson(QUESTION)},`,
        "});",
        "console.log(response.output_text);",
      ]),
    transcription: (subject) =>
      toNode(
        subject,
        [
          "const answer = await client.audio.transcriptions.create({",
          `  model: ${quoteJson(toModel(subject))},`,
          `  file: createReadStream(${quoteJson(RECORDING)}),`,
          "});",
          "console.log(answer.text);",
        ],
        { imports: ['import { createReadStream } from "node:fs";'] },
      ),
    speech: (subject) =>
      toNode(
        subject,
        [
          "const speech = await client.audio.speech.create({",
          `  model: ${quoteJson(toModel(subject))},`,
          '  voice: "alloy",',
          `  input: ${quoteJson(SENTENCE)},`,
          "});",
          'await writeFile("speech.mp3", Buffer.from(await speech.arrayBuffer()));',
        ],
        { imports: [WRITE_FILE] },
      ),
    images: (subject) =>
      toNode(
        subject,
        [
          "const answer = await client.images.generate({",
          `  model: ${quoteJson(toModel(subject))},`,
          `  prompt: ${quoteJson(PICTURE)},`,
          "});",
          'await writeFile("picture.png", Buffer.from(answer.data?.[0]?.b64_json ?? "", "base64"));',
        ],
        { imports: [WRITE_FILE] },
      ),
    moderation: (subject) =>
      toNode(subject, [
        "const answer = await client.moderations.create({",
        `  model: ${quoteJson(toModel(subject))},`,
        `  input: ${quoteJson(PASSAGE)},`,
        "});",
        "console.log(answer.results[0]?.flagged);",
      ]),
  },
  notes: [LAST_CHUNK_NOTE, RESPONSES_NOTE],
};

const WRITE_FILE = 'import { writeFile } from "node:fs/promises";';

function toPython(subject: SnippetSubject, call: readonly string[], imports: readonly string[] = []): string {
  return toPythonSource(subject, {
    kind: "openai",
    imports: [...imports, "from openai import OpenAI"],
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

interface NodeExtras {
  readonly writes?: boolean;
  readonly imports?: readonly string[];
}

function toNode(
  subject: SnippetSubject,
  call: readonly string[],
  { writes = false, imports = [] }: NodeExtras = {},
): string {
  return toNodeSource(subject, {
    kind: "openai",
    writes,
    imports: [...imports, 'import OpenAI from "openai";'],
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
