import {
  QUESTION,
  SECRET_VARIABLES,
  toModel,
  toRelayPrefix,
  toText,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { toNodeSource, toPythonSource, quoteJson, quoteShell, quoteShellWithVariable } from "./source.ts";

const CREDENTIAL_NOTE =
  "The relay token only says whose usage it is: your own credential (ANTHROPIC_API_KEY) goes through to the upstream.";
const MODEL_NOTE =
  "The model is named as the upstream names it; aliases are for clients with a key of this server.";
const RELAY_NOTE = "The relay is on when the server has PROXY_MESSAGES_BASE_URL.";
const ORIGIN_NOTE = "The base URL is the address alone, without /v1: the client adds that.";
const MAX_TOKENS = 256;

export const CLAUDE_CODE = {
  id: "claude-code",
  name: "Claude Code over the relay",
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
} satisfies SnippetClient;

export const ANTHROPIC_PYTHON = {
  id: "anthropic-python",
  name: "Anthropic SDK for Python",
  kind: "relay",
  language: "python",
  file: "example.py",
  install: "pip install anthropic",
  snippets: {
    chat: (subject) => toPythonMessage(subject, "relay"),
    stream: (subject) =>
      toPython(subject, "relay", [
        "with client.messages.stream(",
        ...toPythonFields(subject),
        ") as stream:",
        "    for text in stream.text_stream:",
        '        print(text, end="", flush=True)',
        "print()",
      ]),
  },
  notes: [CREDENTIAL_NOTE, MODEL_NOTE, RELAY_NOTE],
} satisfies SnippetClient;

export const ANTHROPIC_NODE = {
  id: "anthropic-node",
  name: "Anthropic SDK for TypeScript",
  kind: "relay",
  language: "typescript",
  file: "example.ts",
  install: "npm install @anthropic-ai/sdk",
  snippets: {
    chat: (subject) => toNodeMessage(subject, "relay"),
    stream: (subject) =>
      toNode(
        subject,
        "relay",
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
} satisfies SnippetClient;

export const CLAUDE_CODE_KEY: SnippetClient = {
  id: "claude-code-key",
  name: "Claude Code",
  kind: "messages",
  language: "shell",
  file: null,
  install: "npm install -g @anthropic-ai/claude-code",
  snippets: {
    messages: (subject) =>
      toText([
        `export ANTHROPIC_BASE_URL=${quoteShell(subject.origin)}`,
        `export ANTHROPIC_AUTH_TOKEN=${subject.secret === null ? quoteShellWithVariable("", SECRET_VARIABLES.messages) : quoteShell(subject.secret)}`,
        subject.model === null ? "claude" : `claude --model ${quoteShell(subject.model)}`,
      ]),
  },
  notes: [
    ORIGIN_NOTE,
    "For small tasks it asks for a model of its own choice: ANTHROPIC_DEFAULT_HAIKU_MODEL names an alias of this server for it.",
    "ANTHROPIC_CUSTOM_HEADERS='x-proxy-tags: app:claude-code' tags its usage.",
  ],
};

export const ANTHROPIC_PYTHON_KEY: SnippetClient = {
  id: "anthropic-python-key",
  name: "Anthropic SDK for Python",
  kind: "messages",
  language: "python",
  file: "example.py",
  install: "pip install anthropic",
  snippets: { messages: (subject) => toPythonMessage(subject, "messages") },
  notes: [ORIGIN_NOTE],
};

export const ANTHROPIC_NODE_KEY: SnippetClient = {
  id: "anthropic-node-key",
  name: "Anthropic SDK for TypeScript",
  kind: "messages",
  language: "typescript",
  file: "example.ts",
  install: "npm install @anthropic-ai/sdk",
  snippets: { messages: (subject) => toNodeMessage(subject, "messages") },
  notes: [ORIGIN_NOTE],
};

function toShellBase(subject: SnippetSubject): string {
  return subject.secret === null
    ? quoteShellWithVariable(toRelayPrefix(subject), SECRET_VARIABLES.relay)
    : quoteShell(`${toRelayPrefix(subject)}${subject.secret}`);
}

function toPythonMessage(subject: SnippetSubject, kind: "relay" | "messages"): string {
  return toPython(subject, kind, [
    "message = client.messages.create(",
    ...toPythonFields(subject),
    ")",
    'print("".join(block.text for block in message.content if block.type == "text"))',
  ]);
}

function toPython(subject: SnippetSubject, kind: "relay" | "messages", call: readonly string[]): string {
  return toPythonSource(subject, {
    kind,
    imports: ["from anthropic import Anthropic"],
    toLines: (secret) => [
      ...(kind === "relay"
        ? [`client = Anthropic(base_url=${quoteJson(toRelayPrefix(subject))} + ${secret})`]
        : [
            "client = Anthropic(",
            `    base_url=${quoteJson(subject.origin)},`,
            `    api_key=${secret},`,
            ")",
          ]),
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

function toNodeMessage(subject: SnippetSubject, kind: "relay" | "messages"): string {
  return toNode(subject, kind, [
    "const message = await client.messages.create({",
    ...toNodeFields(subject),
    "});",
    'console.log(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""));',
  ]);
}

function toNode(
  subject: SnippetSubject,
  kind: "relay" | "messages",
  call: readonly string[],
  { writes = false } = {},
): string {
  return toNodeSource(subject, {
    kind,
    writes,
    imports: ['import Anthropic from "@anthropic-ai/sdk";'],
    toLines: (secret) => [
      ...(kind === "relay"
        ? [`const client = new Anthropic({ baseURL: ${quoteJson(toRelayPrefix(subject))} + ${secret} });`]
        : [
            "const client = new Anthropic({",
            `  baseURL: ${quoteJson(subject.origin)},`,
            `  apiKey: ${secret},`,
            "});",
          ]),
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
