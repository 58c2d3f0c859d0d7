import { ENDPOINT_NAMES, toRow } from "#catalog/endpoint.ts";

/** What a client may ask for and does not get here. */
export interface Unsupported {
  readonly id: string;
  readonly name: string;
  /** Why it cannot work, in a plain sentence. */
  readonly reason: string;
  /** What to do in its place; null when there is nothing. */
  readonly instead: string | null;
  /** Calls that answer 404 `unknown_endpoint`, as `METHOD /path`; none for a program that does not start at all. */
  readonly calls: readonly string[];
}

/** Clients and features that cannot work with this server, each with its reason. */
export const UNSUPPORTED: readonly Unsupported[] = [
  {
    id: "capabilities",
    name: "Paths whose capability no model has",
    reason:
      "The Responses API, the messages API with a key of this server, transcription, speech, images, moderation and rerank each open with the first model that has the capability.",
    instead:
      "An admin adds it on the page under Models, or by lockport model set NAME --add-capability CAPABILITY. Codex needs responses, Claude Code messages.",
    calls: ENDPOINT_NAMES.map(toRow).flatMap(({ method, path, isAlwaysOpen, body }) =>
      isAlwaysOpen === true || body === null ? [] : [`${method} /v1${path}`],
    ),
  },
  {
    id: "translation",
    name: "One provider's dialect for another's model",
    reason: "Nothing is translated: a model answers the paths that its provider serves.",
    instead: "Give a model only capabilities whose path its provider has.",
    calls: [],
  },
  {
    id: "assistants",
    name: "Assistants, threads, conversations and vector stores",
    reason: "They keep content on the server, and nothing of a request's content is kept here.",
    instead: "Send the conversation with each request.",
    calls: ["POST /v1/assistants", "POST /v1/threads", "POST /v1/conversations", "POST /v1/vector_stores"],
  },
  {
    id: "files",
    name: "Files, batches, fine-tuning and videos",
    reason: "/v1/files, /v1/batches, /v1/fine_tuning and /v1/videos are not served.",
    instead: null,
    calls: ["POST /v1/files", "POST /v1/batches", "POST /v1/fine_tuning/jobs", "POST /v1/videos"],
  },
  {
    id: "realtime",
    name: "Realtime API",
    reason: "There are no WebSockets here.",
    instead: "Stream over HTTPS. Codex tries a WebSocket, is told 426 and goes on over HTTPS.",
    calls: ["GET /v1/realtime"],
  },
  {
    id: "retrieve-model",
    name: "Looking up one model",
    reason: "GET /v1/models/{name} is not served.",
    instead: "List them: GET /v1/models, models.list() in the SDKs.",
    calls: ["GET /v1/models/gpt-4o-mini"],
  },
  {
    id: "azure",
    name: "Azure clients (AzureOpenAI)",
    reason: "They put a deployment into the path: /openai/deployments/…",
    instead: "Use the plain OpenAI client with this server as its base URL.",
    calls: ["POST /openai/deployments/small/chat/completions"],
  },
  {
    id: "ollama",
    name: "Clients of Ollama's own API",
    reason: "/api/chat and /api/generate are not served.",
    instead: "Choose the client's OpenAI-compatible connection.",
    calls: ["POST /api/chat", "POST /api/generate"],
  },
  {
    id: "browser",
    name: "Calls from another site's page in a browser",
    reason: "There is no CORS, so a browser refuses them: a key does not belong in a page.",
    instead: "Call from that site's own server.",
    calls: ["OPTIONS /v1/chat/completions"],
  },
];
