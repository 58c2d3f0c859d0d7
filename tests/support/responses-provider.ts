import { type ScriptedUpstream, startUpstream, type UpstreamCall } from "./upstream.ts";

/** A provider's record of one response. */
export interface ProvidedResponse {
  readonly id: string;
  readonly isBackground: boolean;
  readonly isStored: boolean;
  status: string;
  deleted: boolean;
}

export interface ResponsesProvider {
  readonly baseUrl: string;
  readonly upstream: ScriptedUpstream;
  /** By id, in the order in which they were made. */
  readonly made: Map<string, ProvidedResponse>;
  stop(): Promise<void>;
}

export interface ProviderOptions {
  /** The id of the response that is made as the `index`th; `toId` by itself tells no two apart. */
  readonly toId?: (index: number) => string;
  /** Answers in place of the provider where it returns true. */
  readonly answer?: (call: UpstreamCall, provider: ResponsesProvider) => boolean;
}

/** Every answer of a `completed` response uses as much. */
export const USAGE = {
  input_tokens: 9,
  output_tokens: 4,
  total_tokens: 13,
  input_tokens_details: { cached_tokens: 2 },
};

/** The JSON of a response, in the shape of `Response` of openai 7.55. */
export function toResponse({ id, status, isBackground, isStored }: ProvidedResponse) {
  return {
    id,
    object: "response",
    created_at: 1773230400,
    status,
    background: isBackground,
    store: isStored,
    error: status === "failed" ? { code: "server_error", message: "It failed." } : null,
    incomplete_details: null,
    model: "gpt",
    output: status === "completed" ? [{ type: "message", id: "msg_1", role: "assistant", content: [] }] : [],
    usage: status === "completed" || status === "incomplete" ? USAGE : null,
  };
}

/** An event of a stream of the Responses API. */
export function toEvent(type: string, response: ProvidedResponse): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, response: toResponse(response) })}\n\n`;
}

/**
 * A provider of the Responses API that keeps what it made: a response is `completed` at once, one in the background is
 * `queued` until its status is set.
 */
export async function startResponsesProvider(options: ProviderOptions = {}): Promise<ResponsesProvider> {
  const made = new Map<string, ProvidedResponse>();
  const upstream = await startUpstream({
    script(call) {
      if (options.answer?.(call, provider) === true) return;
      void answer(call, made, options);
    },
  });
  const provider: ResponsesProvider = {
    baseUrl: upstream.baseUrl,
    upstream,
    made,
    stop: () => upstream.stop(),
  };
  return provider;
}

async function answer(
  call: UpstreamCall,
  made: Map<string, ProvidedResponse>,
  { toId = (index) => `resp_${crypto.randomUUID()}_${index}` }: ProviderOptions,
): Promise<void> {
  const { method, target, body } = call.request;
  const [path = ""] = target.split("?");
  const [, , , id, action] = path.split("/");
  const reply = (value: unknown, status = 200) =>
    call.reply({ status, headers: ["content-type: application/json"], body: JSON.stringify(value) });
  if (method === "POST" && id === undefined) {
    const asked = JSON.parse(body.toString());
    const response: ProvidedResponse = {
      id: toId(made.size),
      isBackground: asked.background === true,
      isStored: asked.store !== false,
      status: asked.background === true ? "queued" : "completed",
      deleted: false,
    };
    made.set(response.id, response);
    if (asked.stream !== true) return void (await reply(toResponse(response)));
    await call.beginStream();
    await call.sendChunk(toEvent("response.created", { ...response, status: "in_progress" }));
    if (!response.isBackground) await call.sendChunk(toEvent("response.completed", response));
    return void (await call.endStream());
  }
  const known = made.get(decodeURIComponent(id ?? ""));
  if (known === undefined || known.deleted)
    return void (await reply({ error: { message: "none", type: "invalid_request_error" } }, 404));
  if (method === "DELETE") {
    known.deleted = true;
    return void (await reply({ id: known.id, object: "response", deleted: true }));
  }
  if (action === "input_items")
    return void (await reply({ object: "list", data: [{ type: "message" }], has_more: false }));
  if (action === "cancel") known.status = "cancelled";
  await reply(toResponse(known));
}
