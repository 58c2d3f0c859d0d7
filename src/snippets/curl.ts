import {
  DOCUMENTS,
  PASSAGE,
  PICTURE,
  QUERY,
  QUESTION,
  RECORDING,
  SENTENCE,
  SECRET_VARIABLES,
  toDialectUrl,
  toModel,
  toText,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { quoteShell, quoteShellWithVariable } from "./source.ts";

export const CURL = {
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
    responses: (subject) =>
      toCall(subject, "curl -sS", "responses", { model: toModel(subject), input: QUESTION }),
    messages: (subject) =>
      toCall(
        subject,
        "curl -sS",
        "messages",
        { ...toChatBody(subject), max_tokens: 256 },
        "anthropic-version: 2023-06-01",
      ),
    transcription: (subject) =>
      toText([
        `curl -sS ${quoteShell(`${toDialectUrl(subject)}/audio/transcriptions`)} \\`,
        `  -H ${toAuthorization(subject)} \\`,
        // A form's value that begins with @ or < would be a file's.
        `  --form-string ${quoteShell(`model=${toModel(subject)}`)} \\`,
        `  -F ${quoteShell(`file=@${RECORDING}`)}`,
      ]),
    speech: (subject) =>
      toCall(subject, "curl -sS -o speech.mp3", "audio/speech", {
        model: toModel(subject),
        voice: "alloy",
        input: SENTENCE,
      }),
    images: (subject) =>
      toCall(subject, "curl -sS", "images/generations", { model: toModel(subject), prompt: PICTURE }),
    moderation: (subject) =>
      toCall(subject, "curl -sS", "moderations", { model: toModel(subject), input: PASSAGE }),
    rerank: (subject) =>
      toCall(subject, "curl -sS", "rerank", {
        model: toModel(subject),
        query: QUERY,
        documents: DOCUMENTS,
      }),
  },
  notes: [],
} satisfies SnippetClient;

interface Body {
  readonly [field: string]: unknown;
}

/** A call of the API as a command for a POSIX shell. */
export function toCall(
  subject: SnippetSubject,
  command: string,
  path: string,
  body: Body,
  ...headers: readonly string[]
): string {
  return toText([
    `${command} ${quoteShell(`${toDialectUrl(subject)}/${path}`)} \\`,
    `  -H ${toAuthorization(subject)} \\`,
    ...["content-type: application/json", ...headers].map((header) => `  -H ${quoteShell(header)} \\`),
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
