import { afterEach, describe, expect, test } from "bun:test";
import { OUTCOMES } from "#usage/event.ts";
import { ALIAS, type Proxy } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

/** What was counted above zero, by outcome. */
function counted({ metrics }: Proxy): { readonly [outcome: string]: number } {
  return Object.fromEntries(
    metrics
      .requests()
      .flatMap(({ requests }) => OUTCOMES.map((outcome) => [outcome, requests[outcome]] as const))
      .filter(([, count]) => count > 0),
  );
}

describe("each exchange is counted once, under the outcome of its event", () => {
  test("when its caller leaves before anything came", async () => {
    const { upstream, proxy } = await startPair();
    const leaving = new AbortController();
    const asked = proxy.post({ model: ALIAS }, { signal: leaving.signal }).catch(() => "left");
    await upstream.nextCall();
    expect(counted(proxy)).toEqual({});
    leaving.abort();
    await asked;
    expect((await proxy.onlyEvent()).outcome).toBe("cancelled");
    expect(counted(proxy)).toEqual({ cancelled: 1 });
  });

  test("when its stream breaks off", async () => {
    // A reset right behind it may take the first chunk with it.
    const answered = Promise.withResolvers<void>();
    const { proxy } = await startPair(async (call) => {
      await call.beginStream();
      await call.sendChunk('data: {"choices":[]}\n\n');
      await answered.promise;
      call.reset();
    });
    const response = await proxy.post({ model: ALIAS, stream: true });
    answered.resolve();
    await response.text().catch(() => "broken");
    expect((await proxy.onlyEvent()).outcome).toBe("unreachable");
    expect(counted(proxy)).toEqual({ unreachable: 1 });
  });

  test("when the upstream sends more than may be held", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: "x".repeat(200) }), {
      exchange: { maxResponseBytes: 100 },
    });
    expect((await proxy.post({ model: ALIAS })).status).toBe(502);
    expect(counted(proxy)).toEqual({ unreachable: 1 });
  });

  test("when the disk did not confirm its event, whose line is in the journal all the same", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: "{}" }), {
      onEnd: () => Promise.reject(new Error("not confirmed")),
    });
    expect((await proxy.post({ model: ALIAS })).status).toBe(200);
    await proxy.drained();
    expect(counted(proxy)).toEqual({ ok: 1 });
  });

  test("under the name that its caller used and with the duration of its event", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: "{}" }));
    await proxy.post({ model: ALIAS });
    const { durationUs } = await proxy.onlyEvent();
    expect(proxy.metrics.requests()).toMatchObject([
      { labels: { endpoint: "chat", provider: "acme", model: ALIAS }, durationUs },
    ]);
  });
});
