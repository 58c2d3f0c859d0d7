import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";

let upstream: ScriptedUpstream;
let app: TestApp;
/** What the upstream answers beside `choices`. */
let answer: object;

const PRICING = {
  input_tokens: 1,
  output_tokens: 6,
  cached_input_tokens: 0.1,
  cache_write_tokens: 1.25,
};

beforeEach(async () => {
  upstream = await startUpstream({
    async script(call) {
      const { stream } = JSON.parse(call.request.body.toString());
      if (stream !== true) return call.reply({ body: JSON.stringify({ choices: [], ...answer }) });
      await call.beginStream();
      await call.sendChunk(`data: ${JSON.stringify({ choices: [], ...answer })}\n\ndata: [DONE]\n\n`);
      return call.endStream();
    },
  });
  app = await startApp();
  const post = async (path: string, body: object) =>
    expect((await app.api("POST", path, body)).status).toBe(201);
  await post("/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await post("/admin/v1/models", { alias: "m", provider: "up", upstream_name: "real", pricing: PRICING });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

/** The row of the request log that one request leaves. */
async function ask(usage: object, { stream = false, more = {} } = {}): Promise<any> {
  answer = { usage, ...more };
  const response = await app.api("POST", "/v1/chat/completions", { model: "m", stream, messages: [] });
  await response.text();
  const id = response.headers.get("x-proxy-request-id");
  const { requests } = await read("/admin/v1/requests");
  return requests.find((row: any) => row.id === id);
}

async function read(path: string): Promise<any> {
  return (await app.api("GET", path)).json();
}

describe("cache writes of an inclusive prompt", () => {
  const written = (cached: number | undefined, writes: number) => ({
    prompt_tokens: 1000,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: writes },
  });

  test.each([
    ["800 of 1,000 written", written(undefined, 800), false, 0.00126, 1000, { input: 200, write: 800 }],
    ["streamed", written(undefined, 800), true, 0.00126, 1000, { input: 200, write: 800 }],
    ["some cached too", written(150, 800), false, 0.001125, 850, { input: 50, write: 800 }],
    ["more than there is", written(150, 900), false, 0.0011375, 850, { input: 0, write: 850 }],
    ["none", written(undefined, 0), false, 0.00106, 1000, null],
    [
      "under the name of the responses API",
      {
        input_tokens: 1000,
        output_tokens: 10,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 800 },
      },
      false,
      0.00126,
      1000,
      { input: 200, write: 800 },
    ],
  ] as const)(
    "%s: billed as written, and counted as input once",
    async (_, usage, stream, cost, input, billed) => {
      const row = await ask(usage, { stream });
      expect(row).toMatchObject({ cost, units: { input_tokens: 1000, output_tokens: 10 } });
      const details = {
        input_tokens: { quantity: billed?.input, price: 1 },
        cache_write_tokens: { quantity: billed?.write, price: 1.25 },
      };
      expect(row.unit_details).toEqual(billed === null ? undefined : details);
      const { series } = await read("/stats/series");
      expect(series.at(-1)).toMatchObject({ cost, units: { input_tokens: input }, unpriced_requests: 0 });
    },
  );
});
