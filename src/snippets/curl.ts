import {
  PASSAGE,
  QUESTION,
  SECRET_VARIABLES,
  toDialectUrl,
  toModel,
  toText,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { quoteShell, quoteShellWithVariable } from "./quote.ts";

export const CURL: SnippetClient = {
  id: "curl",
  name: "curl",
  kind: "openai",
  language: "shell",
  file: null,
  install: null,
  snippets: {
    chat: (subject) => toCall(subject, "curl -sS", "chat/completions", toChatBody(subject)),
    // Without -N it would hold what has come back until it has more.
    stream: (subject) =>
      toCall(subject, "curl -sS -N", "chat/completions", { ...toChatBody(subject), stream: true }),
    embeddings: (subject) =>
      toCall(subject, "curl -sS", "embeddings", { model: toModel(subject), input: PASSAGE }),
  },
  notes: [],
};

interface Body {
  readonly [field: string]: unknown;
}

function toCall(subject: SnippetSubject, command: string, path: string, body: Body): string {
  return toText([
    `${command} ${quoteShell(`${toDialectUrl(subject)}/${path}`)} \\`,
    `  -H ${toAuthorization(subject)} \\`,
    "  -H 'content-type: application/json' \\",
    `  -d ${quoteShell(JSON.stringify(body))}`,
  ]);
}

function toAuthorization({ secret }: SnippetSubject): string {
  const scheme = "authorization: Bearer ";
  return secret === null
    ? quoteShellWithVariable(scheme, SECRET_VARIABLES.openai)
    : quoteShell(`${scheme}${secret}`);
}

function toChatBody(subject: SnippetSubject): Body {
  return { model: toModel(subject), messages: [{ role: "user", content: QUESTION }] };
}
