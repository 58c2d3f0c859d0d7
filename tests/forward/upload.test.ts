import { afterEach, describe, expect, test } from "bun:test";
import type { ExchangeInput } from "#forward/exchange.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { ALIAS, COMPLETION, type Proxy, UPSTREAM_NAME } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const clock = createSystemClock();
const LARGE_BYTES = 8 * 1024 * 1024;

/** A large request whose bytes differ from place to place, with its model in the middle. */
function toLarge(model: string): string {
  const words = Array.from({ length: LARGE_BYTES / 16 }, (_, index) => String(index).padStart(7, " "));
  return `{"messages":"${words.join("")}","model":"${model}","user":"${words.join("")}"}`;
}

function toInput(body: string, onClose: () => void, changes: Partial<ExchangeInput> = {}): ExchangeInput {
  return {
    endpoint: "chat",
    caller: { principalId: "principal-1", principalName: "ada", keyId: "key-1", models: null, fixedTags: [] },
    headers: new Headers({ "content-type": "application/json" }),
    query: "",
    body: new Uint8Array(Buffer.from(body)),
    reservation: { close: onClose },
    arrivedAtUs: clock.nowUs(),
    arrivedAtMs: clock.monotonicMs(),
    connection: new AbortController(),
    ...changes,
  };
}

/** The same on a connection that is known to stand, and on a new one. */
async function warmUp(proxy: Proxy): Promise<void> {
  await (await proxy.post({ model: ALIAS })).text();
}

describe("a large request body", () => {
  test.each(["new", "kept"])(
    "goes upstream on a %s connection byte for byte but for its model, with its length, and gives its room back before the answer",
    async (connection) => {
      const { upstream, proxy } = await startPair();
      if (connection === "kept") {
        const first = warmUp(proxy);
        await (await upstream.nextCall()).reply({ body: COMPLETION });
        await first;
      }
      const closed = Promise.withResolvers<void>();
      const input = toInput(toLarge(ALIAS), () => closed.resolve());
      const answer = proxy.exchange.run(input);
      const call = await upstream.nextCall();
      const expected = toLarge(UPSTREAM_NAME);
      expect(call.request.headers.get("content-length")).toBe(String(expected.length));
      expect(call.request.headers.has("transfer-encoding")).toBe(false);
      expect(call.request.body.toString() === expected).toBe(true);
      await closed.promise;
      // Nothing of it is kept while the model thinks.
      expect(input.body.length).toBe(0);
      await call.reply({ body: COMPLETION });
      const result = await answer;
      expect(result.kind).toBe("responded");
      expect(result.kind === "responded" && (await result.response.text())).toBe(COMPLETION);
    },
  );

  test("whose upstream cannot be reached gives its room back, and is unreachable", async () => {
    const { proxy } = await startPair(undefined, { baseUrl: "http://127.0.0.1:1/v1" });
    let isClosed = false;
    const result = await proxy.exchange.run(toInput(toLarge(ALIAS), () => (isClosed = true)));
    expect(result).toMatchObject({ kind: "unreachable", error: "connection_error" });
    expect(isClosed).toBe(true);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "unreachable" });
  });

  test("whose caller hangs up while it waits for a slot gives its room back, and reaches no upstream", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { maxConcurrency: 1 } });
    const first = proxy.post({ model: ALIAS });
    const call = await upstream.nextCall();
    const caller = new AbortController();
    let isClosed = false;
    const input = toInput(toLarge(ALIAS), () => (isClosed = true), { connection: caller });
    const waiting = proxy.exchange.run(input);
    while (proxy.exchange.waitingCount() === 0) await Bun.sleep(1);
    caller.abort();
    expect(await waiting).toEqual({ kind: "cancelled" });
    expect(isClosed).toBe(true);
    await call.reply({ body: COMPLETION });
    await (await first).text();
    expect(upstream.requests).toHaveLength(1);
  });

  test("has the deadline of its unary call, however long its pieces take", async () => {
    const { proxy } = await startPair(() => undefined, { provider: { timeoutReadSeconds: 1 } });
    let isClosed = false;
    const result = await proxy.exchange.run(toInput(toLarge(ALIAS), () => (isClosed = true)));
    expect(result).toMatchObject({ kind: "unreachable", error: "timeout" });
    expect(isClosed).toBe(true);
  });

  test("that is refused is left to who called", async () => {
    const { upstream, proxy } = await startPair();
    let isClosed = false;
    const input = toInput(toLarge("no/such"), () => (isClosed = true));
    const refusal = await Promise.try(() => proxy.exchange.run(input)).catch((failure: unknown) => failure);
    expect(refusal).toMatchObject({ code: "model_not_found" });
    expect(isClosed).toBe(false);
    expect(upstream.requests).toEqual([]);
    expect(proxy.events).toEqual([]);
  });
});
