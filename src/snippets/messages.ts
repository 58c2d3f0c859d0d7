import {
  QUESTION,
  SECRET_VARIABLES,
  toModel,
  toRelayPrefix,
  toText,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { quoteJson, quoteShell, quoteShellWithVariable } from "./quote.ts";
import { toNodeSource, toPythonSource } from "./source.ts";

const CREDENTIAL_NOTE =
  "The relay token only says whose usage it is: your own credential (ANTHROPIC_API_KEY) goes through to the upstream.";
const MODEL_NOTE = "The model is named as the upstream names it; aliases are for /v1.";
const RELAY_NOTE = "The relay is on when the server has PROXY_MESSAGES_BASE_URL.";
const MAX_TOKENS = 256;

export const CLAUDE_CODE: SnippetClient = {
  id: "claude-code",
  name: "Claude Code",
  kind: "relay",
  language: "shell",
  file: null,
  install: "npm install -g @anthropic-ai/claude-code",
  snippets: {
    chat: (subject) =>
      toText([
        `export ANTHROPIC_BASE_URL=${toShellBase(subject)}`,
        subject.model === null ? "claude" : `claude --model ${quoteShell(subject.model)}`,
      ]),
  },
  notes: [
    "The relay token only says whose usage it is: you stay signed in as you are, or set ANTHROPIC_API_KEY.",
    MODEL_NOTE,
    RELAY_NOTE,
    "That there is an issue with the selected model is what it says of a wrong address or relay token, too.",
    "ANTHROPIC_CUSTOM_HEADERS='x-proxy-tags: app:claude-code' tags its usage.",
  ],
};

export const ANTHROPIC_PYTHON: SnippetClient = {
  id: "anthropic-python",
  name: "Anthropic SDK for Python",
  kind: "relay",
  language: "python",
  file: "example.py",
  install: "pip install anthropic",
  snippets: {
    chat: (subject) =>
      toPython(subject, [
        "message = client.messages.create(",
        ...toPythonFields(subject),
        ")",
        'print("".join(block.text for block in message.content if block.type == "text"))',
      ]),
    stream: (subject) =>
      toPython(subject, [
        "with client.messages.stream(",
        ...toPythonFields(subject),
        ") as stream:",
        "    for text in stream.text_stream:",
        '        print(text, end="", flush=True)',
        "print()",
      ]),
  },
  notes: [CREDENTIAL_NOTE, MODEL_NOTE, RELAY_NOTE],
};

export const ANTHROPIC_NODE: SnippetClient = {
  id: "anthropic-node",
  name: "Anthropic SDK for TypeScript",
  kind: "relay",
  language: "typescript",
  file: "example.ts",
  install: "npm install @anthropic-ai/sdk",
  snippets: {
    chat: (subject) =>
      toNode(subject, [
        "const message = await client.messages.create({",
        ...toNodeFields(subject),
        "});",
        'console.log(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""));',
      ]),
    stream: (subject) =>
      toNode(
        subject,
        [
          "const stream = client.messages.stream({",
          ...toNodeFields(subject),
          "});",
          'stream.on("text", (text) => stdout.write(text));',
          "await stream.finalMessage();",
          String.raw`stdout.write("\n");`,
        ],
        { writes: true },
      ),
  },
  notes: [CREDENTIAL_NOTE, MODEL_NOTE, RELAY_NOTE],
};

function toShellBase(subject: SnippetSubject): string {
  return subject.secret === null
    ? quoteShellWithVariable(toRelayPrefix(subject), SECRET_VARIABLES.relay)
    : quoteShell(`${toRelayPrefix(subject)}${subject.secret}`);
}

function toPython(subject: SnippetSubject, call: readonly string[]): string {
  return toPythonSource(subject, {
    kind: "relay",
    imports: ["from anthropic import Anthropic"],
    toLines: (token) => [
      `client = Anthropic(base_url=${quoteJson(toRelayPrefix(subject))} + ${token})`,
      "",
      ...call,
    ],
  });
}

function toPythonFields(subject: SnippetSubject): readonly string[] {
  return [
    `    model=${quoteJson(toModel(subject))},`,
    `    max_tokens=${MAX_TOKENS},`,
    `    messages=[{"role": "user", "content": ${quoteJson(QUESTION)}}],`,
  ];
}

function toNode(subject: SnippetSubject, call: readonly string[], { writes = false } = {}): string {
  return toNodeSource(subject, {
    kind: "relay",
    writes,
    imports: ['import Anthropic from "@anthropic-ai/sdk";'],
    toLines: (token) => [
      `const client = new Anthropic({ baseURL: ${quoteJson(toRelayPrefix(subject))} + ${token} });`,
      "",
      ...call,
    ],
  });
}

function toNodeFields(subject: SnippetSubject): readonly string[] {
  return [
    `  model: ${quoteJson(toModel(subject))},`,
    `  max_tokens: ${MAX_TOKENS},`,
    `  messages: [{ role: "user", content: ${quoteJson(QUESTION)} }],`,
  ];
}
