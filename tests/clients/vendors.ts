/**
 * A provider on loopback that speaks the shapes of OpenAI, Anthropic and Cohere: Responses API, messages API, audio, images,
 * moderation, embeddings and rerank, each as the newest SDK of its vendor types it. `use NAME {…}` in a question asks for a
 * call of that tool with these arguments, unless its result is there.
 */
export interface Vendors {
  /** Scheme, host and port. */
  readonly url: string;
  stop(): Promise<void>;
}

export const WARM = "It is warm.";
export const SPOKEN = "ID3 not quite a sound";
export const HEARD = "What was said.";
/** One pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Turn {
  readonly stage: keyof typeof TOKENS;
  readonly text: string;
  readonly call: { readonly name: string; readonly input: string } | null;
}

/** Tokens of each answer: `written` and `cached` are parts of the prompt. */
export const TOKENS = {
  text: { plain: 11, cached: 4, written: 2, output: 7 },
  call: { plain: 30, cached: 0, written: 0, output: 12 },
  done: { plain: 45, cached: 20, written: 0, output: 5 },
} as const;

interface Greetings {
  readonly greeting: string;
  /** For `greet me plainly`. */
  readonly plainGreeting: string;
}

export function startVendors(credential: string, greetings: Greetings): Vendors {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const { headers } = request;
      const isKnown =
        headers.get("authorization") === `Bearer ${credential}` || headers.get("x-api-key") === credential;
      if (!isKnown) return refuse(401, "This is not the provider's credential.");
      const isForm = (headers.get("content-type") ?? "").startsWith("multipart/form-data");
      const body = isForm ? Object.fromEntries(await request.formData()) : await request.json();
      const answer = ANSWERS[pathname];
      return answer === undefined ? refuse(404, `${pathname} is not spoken.`) : answer(body, greetings);
    },
  });
  return { url: server.url.origin, stop: () => server.stop(true) };
}

function refuse(status: number, message: string): Response {
  const error = { message, type: "invalid_request_error" };
  return Response.json({ type: "error", error }, { status });
}

// oxlint-disable-next-line typescript/no-explicit-any -- bodies of a dozen vendors' calls, read by tests alone
type Body = any;

const ANSWERS: {
  readonly [path: string]: (body: Body, greetings: Greetings) => Response | Promise<Response>;
} = {
  "/v1/responses": (body, greetings) => {
    const events = toResponseEvents(body, readTurn(body.input, greetings));
    return body.stream === true ? toEventStream(events) : Response.json(events.at(-1)?.["response"]);
  },
  "/v1/messages": (body, greetings) => {
    const turn = readTurn(body.messages, greetings);
    return body.stream === true
      ? toEventStream(toMessageEvents(body, turn))
      : Response.json(toMessage(body, turn));
  },
  "/v1/messages/count_tokens": () => Response.json({ input_tokens: 17 }),
  "/v1/responses/input_tokens": () => Response.json({ object: "response.input_tokens", input_tokens: 17 }),
  "/v1/embeddings": ({ model, input, encoding_format }) =>
    Response.json({
      object: "list",
      model,
      data: [input].flat().map((_, index) => ({
        object: "embedding",
        index,
        embedding: encoding_format === "base64" ? toBase64([0.25, 0.5]) : [0.25, 0.5],
      })),
      usage: { prompt_tokens: 8, total_tokens: 8 },
    }),
  "/v1/audio/transcriptions": transcribe,
  "/v1/audio/translations": transcribe,
  "/v1/audio/speech": () => new Response(SPOKEN, { headers: { "content-type": "audio/mpeg" } }),
  "/v1/images/generations": paint,
  "/v1/images/edits": async (body) =>
    [body.image, body["image[]"]].some((image) => image instanceof Blob && image.size > 0)
      ? paint()
      : refuse(400, "There is no image."),
  "/v1/moderations": ({ model }) =>
    Response.json({
      id: "modr-1",
      model,
      results: [{ flagged: false, categories: {}, category_scores: {}, category_applied_input_types: {} }],
    }),
  // As https://docs.cohere.com/reference/rerank has it, for both of its versions.
  "/v1/rerank": ({ documents }) =>
    Response.json({
      id: "rerank-1",
      results: documents.map((_: unknown, index: number) => ({ index, relevance_score: 1 / (index + 1) })),
      meta: { api_version: { version: "2" }, billed_units: { search_units: 1 } },
    }),
};

async function transcribe({ file, language }: Body): Promise<Response> {
  if (!(file instanceof Blob) || file.size === 0) return refuse(400, "There is no file.");
  return Response.json({ text: HEARD, language, usage: { type: "duration", seconds: 9 } });
}

function paint(): Response {
  return Response.json({
    created: 1,
    data: [{ b64_json: PIXEL }],
    usage: {
      input_tokens: 50,
      output_tokens: 200,
      total_tokens: 250,
      input_tokens_details: { text_tokens: 40, image_tokens: 10 },
    },
  });
}

function toBase64(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString("base64");
}

/** The whole conversation is read as text: its shape differs from one client to the next. */
function readTurn(conversation: unknown, { greeting, plainGreeting }: Greetings): Turn {
  const text = JSON.stringify(conversation);
  const asked = /use (\w+) (\{[^{}]*\})/.exec(texts(conversation).join("\n"));
  if (asked === null) {
    return { stage: "text", text: text.includes("greet me plainly") ? plainGreeting : greeting, call: null };
  }
  if (/"(function_call_output|tool_result)"/.test(text)) return { stage: "done", text: WARM, call: null };
  const [, name = "", input = ""] = asked;
  return { stage: "call", text: "", call: { name, input } };
}

function texts(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}

type Event = { readonly type: string } & Record<string, Body>;

/** Named by their type, as both vendors' streams of this shape are. */
function toEventStream(events: readonly Event[]): Response {
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return new Response(body.join(""), { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

function toPieces(text: string): readonly string[] {
  return text.match(/.{1,9}/gsu) ?? [];
}

/** The events of openai's `ResponseStreamEvent`, in the order of its streaming guide. */
function toResponseEvents(body: Body, turn: Turn): readonly Event[] {
  const { plain, cached, written, output } = TOKENS[turn.stage];
  const id = `resp_${crypto.randomUUID().replaceAll("-", "")}`;
  const input = plain + cached + written;
  const response = (status: string, items: readonly unknown[], usage: unknown) => ({
    id,
    object: "response",
    created_at: 1,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: body.model,
    output: items,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: body.store ?? true,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage,
  });
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
  const { item, events } = turn.call === null ? toTextItem(turn.text) : toCallItem(turn.call);
  const started = response("in_progress", [], null);
  return [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...events,
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: response("completed", [item], usage) },
  ].map((event, sequence_number) => Object.assign(event, { sequence_number }));
}

function toTextItem(text: string): { readonly item: unknown; readonly events: readonly Event[] } {
  const item_id = "msg_1";
  const place = { item_id, output_index: 0, content_index: 0 };
  const part = { type: "output_text", text, annotations: [], logprobs: [] };
  const item = { type: "message", id: item_id, role: "assistant", status: "completed", content: [part] };
  const added = { ...item, status: "in_progress", content: [] };
  return {
    item,
    events: [
      { type: "response.output_item.added", output_index: 0, item: added },
      { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
      ...toPieces(text).map((delta) => {
        return {
          type: "response.output_text.delta",
          item_id,
          output_index: 0,
          content_index: 0,
          delta,
          logprobs: [],
        };
      }),
      { type: "response.output_text.done", ...place, text, logprobs: [] },
      { type: "response.content_part.done", ...place, part },
    ],
  };
}

function toCallItem({ name, input }: { readonly name: string; readonly input: string }) {
  const item_id = "fc_1";
  const place = { item_id, output_index: 0 };
  const item = {
    type: "function_call",
    id: item_id,
    call_id: "call_1",
    name,
    arguments: input,
    status: "completed",
  };
  return {
    item,
    events: [
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...item, arguments: "", status: "in_progress" },
      },
      ...toPieces(input).map((delta) => {
        return { type: "response.function_call_arguments.delta", item_id, output_index: 0, delta };
      }),
      { type: "response.function_call_arguments.done", ...place, name, arguments: input },
    ],
  };
}

/** As `Message` and `RawMessageStreamEvent` of @anthropic-ai/sdk have it. */
function toMessage(body: Body, { stage, text, call }: Turn) {
  const { plain, cached, written, output } = TOKENS[stage];
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: body.model,
    content: [
      call === null
        ? { type: "text", text, citations: null }
        : { type: "tool_use", id: "toolu_1", name: call.name, input: JSON.parse(call.input) },
    ],
    stop_reason: call === null ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: {
      input_tokens: plain,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: written,
      cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
      output_tokens: output,
      service_tier: "standard",
    },
  };
}

function toMessageEvents(body: Body, turn: Turn): readonly Event[] {
  const message = toMessage(body, turn);
  const { stop_reason, usage } = message;
  const block =
    turn.call === null
      ? { type: "text", text: "" }
      : { type: "tool_use", id: "toolu_1", name: turn.call.name, input: {} };
  const toDelta = (piece: string) =>
    turn.call === null
      ? { type: "text_delta", text: piece }
      : { type: "input_json_delta", partial_json: piece };
  const start = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  return [
    { type: "message_start", message: start },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "ping" },
    ...toPieces(turn.call?.input ?? turn.text).map((piece) => ({
      type: "content_block_delta",
      index: 0,
      delta: toDelta(piece),
    })),
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    },
    { type: "message_stop" },
  ];
}
