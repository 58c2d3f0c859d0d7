import type { Capability } from "#catalog/capability.ts";

/** What a snippet shows, and what a model has to be able to do for it (specification, section 4.2). */
export const NEEDS = {
  chat: ["chat"],
  stream: ["chat", "chat_stream"],
  responses: ["responses"],
  messages: ["messages"],
  embeddings: ["embeddings"],
  transcription: ["transcription"],
  speech: ["speech"],
  images: ["images"],
  moderation: ["moderation"],
  rerank: ["rerank"],
} as const satisfies { readonly [use: string]: readonly Capability[] };
export type SnippetUse = keyof typeof NEEDS;
export const SNIPPET_USES: readonly SnippetUse[] = Object.keys(NEEDS).filter(isUse);

function isUse(word: string): word is SnippetUse {
  return Object.hasOwn(NEEDS, word);
}

/** True when a model that can do this answers the snippet. */
export function isServed(use: SnippetUse, capabilities: readonly Capability[]): boolean {
  return NEEDS[use].every((needed) => capabilities.includes(needed));
}

/** The `openai` kind has an API key and `/v1` as its base URL, `messages` a key and the origin, `relay` a relay token. */
export type SnippetKind = "openai" | "messages" | "relay";

/** The variable that stands in a snippet where the secret itself is not shown: an API key, or a relay token. */
export const SECRET_VARIABLES = {
  openai: "LOCKPORT_KEY",
  messages: "LOCKPORT_KEY",
  relay: "LOCKPORT_RELAY_TOKEN",
} as const satisfies Record<SnippetKind, string>;

/** Stands where no model was named. */
export const MODEL_PLACEHOLDER = "your-model";

export interface SnippetSubject {
  /** Scheme, host and port of this server as the client reaches it, without a path. */
  readonly origin: string;
  /** An alias; for a relay client a name of the upstream's own. Null leaves it to the client, or shows a placeholder. */
  readonly model: string | null;
  /** The plaintext, for the one time that it may be shown; null names the kind's variable instead. */
  readonly secret: string | null;
}

export type ToSnippet = (subject: SnippetSubject) => string;

/** A program that works with this server, and the text that makes it do so. */
export interface SnippetClient {
  /** What it is called on the command line. */
  readonly id: string;
  readonly name: string;
  readonly kind: SnippetKind;
  readonly language: "shell" | "python" | "typescript" | "yaml" | "toml";
  /** Where the text goes; null for a shell. */
  readonly file: string | null;
  /** A command line that installs the client; null when it is there already or has ways of its own. */
  readonly install: string | null;
  /** The texts, each ending with a line break. A program's own settings are under the first of its uses. */
  readonly snippets: { readonly [use in SnippetUse]?: ToSnippet };
  /** What one runs into, in plain sentences. */
  readonly notes: readonly string[];
}

/** The uses that a client has a snippet for, in the order of `SNIPPET_USES`. */
export function toUses(client: SnippetClient): readonly SnippetUse[] {
  return SNIPPET_USES.filter((use) => client.snippets[use] !== undefined);
}

/** What an OpenAI client calls its base URL. */
export function toDialectUrl({ origin }: SnippetSubject): string {
  return `${origin}/v1`;
}

/** What a client of the messages API calls its base URL, as far as the relay token that ends it. */
export function toRelayPrefix({ origin }: SnippetSubject): string {
  return `${origin}/transparent/messages/`;
}

export function toModel({ model }: SnippetSubject): string {
  return model ?? MODEL_PLACEHOLDER;
}

/** Lines as a text that ends with a line break. */
export function toText(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}

/** What the examples ask. */
export const QUESTION = "Say hello in one sentence.";
/** What the examples turn into vectors. */
export const PASSAGE = "A sentence to find again.";
/** What the examples say, draw, sort and take down. */
export const SENTENCE = "Hello from Lockport.";
export const PICTURE = "A lighthouse at night";
export const QUERY = "What keeps ships off the rocks?";
export const DOCUMENTS = ["A lighthouse", "A lock of a canal"];
export const RECORDING = "hello.mp3";
