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
    id: "responses",
    name: "Responses API",
    reason: "/v1/responses is not served.",
    instead:
      'Tell the client to use chat completions: client.chat.completions in the OpenAI SDKs, .chat() in the Vercel AI SDK, use_responses_api=False in LangChain, set_default_openai_api("chat_completions") in the OpenAI Agents SDK.',
    calls: ["POST /v1/responses"],
  },
  {
    id: "codex",
    name: "Codex CLI",
    reason: 'It speaks only the Responses API since it dropped wire_api = "chat".',
    instead: "Use aider or Continue.",
    calls: ["POST /v1/responses"],
  },
  {
    id: "messages-aliases",
    name: "Claude Code and the Anthropic SDKs with an alias",
    reason: "The messages API is relayed to its own upstream only; it is not translated to chat completions.",
    instead: "Use an OpenAI client for aliases, and the relay for the upstream's own models.",
    calls: ["POST /v1/messages", "POST /messages"],
  },
  {
    id: "assistants",
    name: "Assistants, threads and vector stores",
    reason: "They keep content on the server, and nothing of a request's content is kept here.",
    instead: "Send the conversation with each chat completion.",
    calls: ["POST /v1/assistants", "POST /v1/threads", "POST /v1/vector_stores"],
  },
  {
    id: "files",
    name: "Files, batches and fine-tuning",
    reason: "/v1/files, /v1/batches and /v1/fine_tuning are not served.",
    instead: null,
    calls: ["POST /v1/files", "POST /v1/batches", "POST /v1/fine_tuning/jobs"],
  },
  {
    id: "realtime",
    name: "Realtime API",
    reason: "There are no WebSockets here.",
    instead: "Stream a chat completion.",
    calls: ["GET /v1/realtime"],
  },
  {
    id: "audio",
    name: "Speech and transcription",
    reason: "/v1/audio is not served.",
    instead: null,
    calls: ["POST /v1/audio/speech", "POST /v1/audio/transcriptions", "POST /v1/audio/translations"],
  },
  {
    id: "images",
    name: "Making images and moderation",
    reason: "/v1/images and /v1/moderations are not served. Images inside a chat message do work.",
    instead: null,
    calls: ["POST /v1/images/generations", "POST /v1/moderations"],
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
