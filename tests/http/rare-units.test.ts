import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { findValue, parseExposition } from "../support/exposition.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";

let upstream: ScriptedUpstream;
let app: TestApp;
/** The upstream's answer beside `choices`. */
let answer: object;
let status = 200;

beforeEach(async () => {
  status = 200;
  upstream = await startUpstream({
    script: (call) => call.reply({ status, body: JSON.stringify({ choices: [], ...answer }) }),
  });
  app = await startApp();
  await post("/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

async function post(path: string, body: object): Promise<void> {
  expect((await app.api("POST", path, body)).status).toBe(201);
}

async function bind(pricing: object): Promise<void> {
  await post("/admin/v1/models", { alias: "m", provider: "up", upstream_name: "real", pricing });
}

async function read(path: string): Promise<any> {
  return (await app.api("GET", path)).json();
}

async function readCsv(path: string): Promise<readonly (readonly string[])[]> {
  const headers = { authorization: `Bearer ${app.adminKey}`, accept: "text/csv" };
  const text = await (await app.api("GET", path, undefined, headers)).text();
  return text
    .trim()
    .split("\r\n")
    .map((line) => line.split(","));
}

/** The row of the request log that one request leaves. */
async function ask(more: object): Promise<any> {
  answer = more;
  const response = await app.api("POST", "/v1/chat/completions", { model: "m", messages: [] });
  await response.text();
  const id = response.headers.get("x-proxy-request-id");
  const { requests } = await read("/admin/v1/requests");
  return requests.find((row: any) => row.id === id);
}

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 20, audio_tokens: 30, image_tokens: 15 },
  completion_tokens_details: { audio_tokens: 40 },
};
const PRICES = { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0.1, cache_write_tokens: 1.25 };

describe("parts of a prompt and of an answer", () => {
  test("cost what they have a price for, and else what they are a part of: no token twice", async () => {
    await bind({ ...PRICES, input_audio_tokens: 30, output_audio_tokens: 60 });
    const row = await ask({ usage: USAGE });
    expect(row.units).toEqual({ input_tokens: 100, output_tokens: 50, cached_input_tokens: 10 });
    expect(row.unit_details).toEqual({
      input_tokens: { quantity: 25, price: 1 },
      output_tokens: { quantity: 10, price: 2 },
      cache_write_tokens: { quantity: 20, price: 1.25 },
      input_audio_tokens: { quantity: 30, price: 30 },
      input_image_tokens: { quantity: 15, price: 1 },
      output_audio_tokens: { quantity: 40, price: 60 },
    });
    // 25 × 1 + 10 × 0.1 + 20 × 1.25 + 30 × 30 + 15 × 1 + 10 × 2 + 40 × 60
    expect(row.cost).toBe(0.003386);
    const { series } = await read("/stats/series");
    expect(series.at(-1).units).toEqual({ input_tokens: 90, output_tokens: 50, cached_input_tokens: 10 });
    expect(await read("/admin/v1/usage/missing-prices")).toEqual({ missing: [] });
  });

  test("leave no trace where their numbers are zero: an answer has the fields it always had", async () => {
    await bind(PRICES);
    const zeroes = { audio_tokens: 0, image_tokens: 0 };
    const row = await ask({
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: zeroes,
        completion_tokens_details: { audio_tokens: 0 },
      },
    });
    expect(row.units).toEqual({ input_tokens: 100, output_tokens: 50 });
    expect("unit_details" in row).toBe(false);
    const [head = []] = await readCsv("/stats/requests");
    expect(head.filter((column) => /audio_tokens|image|search|requests/.test(column))).toEqual([]);
    expect(head.at(-1)).toMatch(/^(?:unmetered|pending)$/);
    expect((await readCsv("/stats/summary"))[0]?.slice(-4)).toEqual([
      "input_tokens",
      "output_tokens",
      "cached_input_tokens",
      "audio_seconds",
    ]);
  });

  test("have columns of CSV behind all others, in every row of an export, also where only an old one has them", async () => {
    await bind({ ...PRICES, output_audio_tokens: 60 });
    await ask({ usage: USAGE });
    await ask({ usage: { prompt_tokens: 1, completion_tokens: 1 } });
    const [head = [], newest = [], oldest = []] = await readCsv("/stats/requests");
    const added = ["input_audio_tokens", "input_image_tokens", "output_audio_tokens"].flatMap((unit) => [
      `billed_${unit}`,
      `${unit}_price_per_million`,
    ]);
    expect(head.slice(-6)).toEqual(added);
    expect(newest.slice(-6)).toEqual(["", "", "", "", "", ""]);
    expect(oldest.slice(-6)).toEqual(["30", "1", "15", "1", "40", "60"]);
  });
});

describe("a price by the request", () => {
  test("is paid once for each that was answered 2xx, beside what it used", async () => {
    await bind({ input_tokens: 1, output_tokens: 2, requests: 1000 });
    const row = await ask({ usage: { prompt_tokens: 100, completion_tokens: 50 } });
    expect(row).toMatchObject({
      units: { input_tokens: 100, output_tokens: 50, requests: 1 },
      unit_prices: { requests: 1000 },
      cost: 0.0012,
    });
    status = 500;
    const failed = await ask({ error: { type: "overloaded" } });
    expect(failed).toMatchObject({ outcome: "upstream_error", units: {}, cost: null });
    const [head = [], line = []] = await readCsv("/stats/summary");
    expect([
      head.filter((column) => column === "requests").length,
      line[head.indexOf("billed_requests")],
    ]).toEqual([1, "1"]);
    const families = parseExposition(await (await fetch(`${app.url}/metrics`)).text());
    expect(
      findValue(families, "proxy_usage_units_total", { provider: "up", model: "m", unit: "requests" }),
    ).toBe(1);
  });
});
