/**
 * A small model server that speaks the chat-completions dialect on loopback: no model inside, but honest about its words.
 * The demo uses it as the provider; run it alone with `bun contrib/demo/model-server.ts 9100`, and with other names for its
 * models with `--chat NAME` and `--embedding NAME`, each as often as wanted.
 */
import { parseArgs } from "node:util";

export interface ModelServer {
  /** Including `/v1`: what a provider's `base_url` is set to. */
  readonly baseUrl: string;
  /** Ends open streams, too. */
  stop(): Promise<void>;
}

export interface ModelServerOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Pause between the words of a stream. */
  readonly wordPauseMs?: number;
  /** Names of its models in place of `demo-model-1` and `demo-embedding-1`. */
  readonly chatModels?: readonly string[];
  readonly embeddingModels?: readonly string[];
  /** Keys that its list of models wants one of; absent: it has none, and lists them to everyone. */
  readonly keys?: readonly string[];
}

const CHAT_MODELS_DEFAULT = ["demo-model-1"];
const EMBEDDING_MODELS_DEFAULT = ["demo-embedding-1"];
const EMBEDDING_DIMENSIONS = 64;
const WORD_PAUSE_MS_DEFAULT = 40;
/** A fixed moment, so that two answers to one request are the same bytes. */
const CREATED = 1_760_000_000;

type Json = { readonly [member: string]: unknown };
type Answer = (body: Json, model: string) => Response;

export function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const {
    wordPauseMs: pauseMs = WORD_PAUSE_MS_DEFAULT,
    chatModels = CHAT_MODELS_DEFAULT,
    embeddingModels = EMBEDDING_MODELS_DEFAULT,
    keys = null,
  } = options;
  const models = [...chatModels, ...embeddingModels];
  const answering = (answer: Answer) => (request: Request) => answerWith(request, models, answer);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: options.port,
    idleTimeout: 60,
    development: false,
    routes: {
      "/v1/models": {
        GET: ({ headers }) =>
          keys?.some((key) => headers.get("authorization") === `Bearer ${key}`) === false
            ? refuse(401, "invalid_api_key", "No such key.")
            : listModels(models),
      },
      "/v1/chat/completions": { POST: answering((body, model) => answerChat(body, { model, pauseMs })) },
      "/v1/completions": { POST: answering((body, model) => answerCompletion(body, { model, pauseMs })) },
      "/v1/embeddings": { POST: answering(answerEmbeddings) },
    },
    fetch: () => refuse(404, "not_found", "There is no such endpoint here."),
    error: () => refuse(500, "server_error", "The demo server failed."),
  });
  return Promise.resolve({
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    stop: () => server.stop(true),
  });
}

async function answerWith(request: Request, models: readonly string[], answer: Answer): Promise<Response> {
  const body: unknown = await request.json().catch(() => null);
  if (!isJsonObject(body)) return refuse(400, "invalid_request_error", "The body must be a JSON object.");
  const { model } = body;
  if (typeof model !== "string" || !models.includes(model)) {
    return refuse(404, "model_not_found", `The models here are ${models.join(" and ")}.`);
  }
  return answer(body, model);
}

function listModels(models: readonly string[]): Response {
  const data = models.map((id) => ({ id, object: "model", created: CREATED, owned_by: "demo" }));
  return Response.json({ object: "list", data });
}

interface Talk {
  readonly model: string;
  readonly pauseMs: number;
}

function answerChat(body: Json, { model, pauseMs }: Talk): Response {
  const messages: unknown = body["messages"];
  if (!Array.isArray(messages) || messages.length === 0) {
    return refuse(400, "invalid_request_error", "`messages` must be an array of at least one message.");
  }
  const texts = messages.map((message) => (isJsonObject(message) ? toText(message["content"]) : ""));
  const words = toReply(texts.at(-1) ?? "");
  const usage = toUsage(texts.join(" "), words.length);
  const head = { id: "chatcmpl-demo", created: CREATED, model };
  if (body["stream"] !== true) {
    const message = { role: "assistant", content: words.join("") };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return Response.json({ ...head, object: "chat.completion", choices, usage });
  }
  const chunk = (delta: Json, finishReason: string | null) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
  const events = [
    chunk({ role: "assistant", content: "" }, null),
    ...words.map((word) => chunk({ content: word }, null)),
    chunk({}, "stop"),
    ...(wantsUsage(body) ? [{ ...head, object: "chat.completion.chunk", choices: [], usage }] : []),
  ];
  return stream(events, pauseMs);
}

function answerCompletion(body: Json, { model, pauseMs }: Talk): Response {
  const prompt = toText(body["prompt"]);
  const words = toReply(prompt);
  const usage = toUsage(prompt, words.length);
  const head = { id: "cmpl-demo", object: "text_completion", created: CREATED, model };
  const choice = (text: string, finishReason: string | null) => ({
    index: 0,
    text,
    finish_reason: finishReason,
  });
  if (body["stream"] !== true)
    return Response.json({ ...head, choices: [choice(words.join(""), "stop")], usage });
  const chunk = (text: string, finishReason: string | null) => ({
    ...head,
    choices: [choice(text, finishReason)],
  });
  const events = [
    ...words.map((word) => chunk(word, null)),
    chunk("", "stop"),
    ...(wantsUsage(body) ? [{ ...head, choices: [], usage }] : []),
  ];
  return stream(events, pauseMs);
}

function answerEmbeddings(body: Json, model: string): Response {
  const input: unknown = body["input"];
  const texts = Array.isArray(input) ? input.map(toText) : [toText(input)];
  const isBase64 = body["encoding_format"] === "base64";
  const data = texts.map((text, index) => {
    const vector = embed(text);
    // The official SDKs ask for base64 unless told otherwise.
    const embedding = isBase64 ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  const tokens = countWords(texts.join(" "));
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return Response.json({ object: "list", model, data, usage });
}

function stream(events: readonly Json[], pauseMs: number): Response {
  const encoder = new TextEncoder();
  async function* write() {
    for (const event of events) {
      yield encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
      await Bun.sleep(pauseMs);
    }
    yield encoder.encode("data: [DONE]\n\n");
  }
  const chunks = write();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
  });
}

/** Words with the space before them, as tokens have it. */
function toReply(lastMessage: string): string[] {
  const count = countWords(lastMessage);
  const reply = `Hello! I am a demo model on your own machine, and I have read the ${count} words that you sent.`;
  return reply.split(/(?= )/);
}

function toUsage(prompt: string, completionTokens: number) {
  const promptTokens = countWords(prompt);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}

/** A vector of unit length, the same for the same text: each word pushes it in a direction of its own. */
function embed(text: string): Float32Array {
  const vector = new Float32Array(EMBEDDING_DIMENSIONS);
  for (const word of ["", ...toWords(text.toLowerCase())]) {
    const seed = Bun.hash.crc32(word);
    for (let index = 0; index < EMBEDDING_DIMENSIONS; index += 1) {
      vector[index] = (vector[index] ?? 0) + Math.sin(seed + index * index);
    }
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function wantsUsage(body: Json): boolean {
  const options: unknown = body["stream_options"];
  return isJsonObject(options) && options["include_usage"] === true;
}

/** Text, or the text parts of a message with several parts; token ids and images count as no words. */
function toText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isJsonObject(part) ? toText(part["text"]) : toText(part))).join(" ");
}

function toWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

function countWords(text: string): number {
  return toWords(text).length;
}

function refuse(status: number, code: string, message: string): Response {
  return Response.json({ error: { message, type: "invalid_request_error", param: null, code } }, { status });
}

function isJsonObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      chat: { type: "string", multiple: true, default: CHAT_MODELS_DEFAULT },
      embedding: { type: "string", multiple: true, default: EMBEDDING_MODELS_DEFAULT },
    },
  });
  const server = await startModelServer({
    port: Number(positionals[0] ?? 9100),
    chatModels: values.chat,
    embeddingModels: values.embedding,
  });
  const models = [...values.chat, ...values.embedding].join(", ");
  console.log(`A demo model server listens at ${server.baseUrl} (models: ${models}).`);
}
