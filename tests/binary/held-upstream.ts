export interface HeldUpstream {
  /** With `/v1`. */
  readonly baseUrl: string;
  /** Fulfilled when this many requests are here at the same time or have been. */
  arrived(count: number): Promise<void>;
  /** Lets every request that is held, and every later one, end. */
  release(): void;
  stop(): void;
}

const COMPLETION = {
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1 },
};
const FIRST_EVENT = `data: {"choices":[{"index":0,"delta":{"content":"h"}}]}\n\n`;
const LAST_EVENTS = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\ndata: [DONE]\n\n`;

/** A provider that answers when it is told to: a unary request not at all before, a stream with its first event. */
export function startHeldUpstream(): HeldUpstream {
  const released = Promise.withResolvers<void>();
  const waiting: { count: number; resolve: () => void }[] = [];
  let arrivals = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      // Which models it has is asked as one is added.
      if (request.method === "GET") return Response.json({ data: [] });
      const { stream } = JSON.parse(await request.text());
      arrivals += 1;
      for (const { count, resolve } of waiting) if (arrivals >= count) resolve();
      if (stream !== true) {
        await released.promise;
        return Response.json(COMPLETION);
      }
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(FIRST_EVENT));
          await released.promise;
          controller.enqueue(new TextEncoder().encode(LAST_EVENTS));
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    arrived: (count) =>
      new Promise((resolve) => {
        if (arrivals >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    release: released.resolve,
    stop: () => void server.stop(true),
  };
}
