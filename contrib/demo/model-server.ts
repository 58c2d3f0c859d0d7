/**
 * A small model server that speaks the chat-completions dialect on loopback: no model inside, but honest about its words.
 * The demo uses it as the provider; run it alone with `bun contrib/demo/model-server.ts 9100`.
 */

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
}

const CHAT_MODEL = "demo-model-1";
const EMBEDDING_MODEL = "demo-embedding-1";
const MODELS = [CHAT_MODEL, EMBEDDING_MODEL];
const EMBEDDING_DIMENSIONS = 64;
const WORD_PAUSE_MS_DEFAULT = 40;
/** A fixed moment, so that two answers to one request are the same bytes. */
const CREATED = 1_760_000_000;

type Json = { readonly [member: string]: unknown };
type Answer = (body: Json) => Response;

export function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const pauseMs = options.wordPauseMs ?? WORD_PAUSE_MS_DEFAULT;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: options.port,
    idleTimeout: 60,
    development: false,
    routes: {
      "/v1/models": { GET: listModels },
      "/v1/chat/completions": { POST: answering((body) => answerChat(body, pauseMs)) },
      "/v1/completions": { POST: answering((body) => answerCompletion(body, pauseMs)) },
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

function answering(answer: Answer) {
  return async (request: Request): Promise<Response> => {
    const body: unknown = await request.json().catch(() => null);
    if (!isJsonObject(body)) return refuse(400, "invalid_request_error", "The body must be a JSON object.");
    const { model } = body;
    if (typeof model !== "string" || !MODELS.includes(model)) {
      return refuse(404, "model_not_found", `The models here are ${MODELS.join(" and ")}.`);
    }
    return answer(body);
  };
}

function listModels(): Response {
  const data = MODELS.map((id) => ({ id, object: "model", created: CREATED, owned_by: "demo" }));
  return Response.json({ object: "list", data });
}

function answerChat(body: Json, pauseMs: number): Response {
  const messages: unknown = body["messages"];
  if (!Array.isArray(messages) || messages.length === 0) {
    return refuse(400, "invalid_request_error", "`messages` must be an array of at least one message.");
  }
  const texts = messages.map((message) => (isJsonObject(message) ? toText(message["content"]) : ""));
  const words = toReply(texts.at(-1) ?? "");
  const usage = toUsage(texts.join(" "), words.length);
  const head = { id: "chatcmpl-demo", created: CREATED, model: CHAT_MODEL };
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

function answerCompletion(body: Json, pauseMs: number): Response {
  const prompt = toText(body["prompt"]);
  const words = toReply(prompt);
  const usage = toUsage(prompt, words.length);
  const head = { id: "cmpl-demo", object: "text_completion", created: CREATED, model: CHAT_MODEL };
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

function answerEmbeddings(body: Json): Response {
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
  return Response.json({ object: "list", model: EMBEDDING_MODEL, data, usage });
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
  return new Response(write, {
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

/** Of unit length and the same for the same text: each word pushes the vector in a direction of its own. */
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
  const server = await startModelServer({ port: Number(process.argv[2] ?? 9100) });
  console.log(`A demo model server listens at ${server.baseUrl} (models: ${MODELS.join(", ")}).`);
}
