import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startWorld, type World } from "../limits/world.ts";

let world: World;
/** A client that a spreadsheet would run. */
const FORMULA = '=HYPERLINK("http://x.test")';

beforeAll(async () => {
  world = await startWorld({
    script: (call) =>
      call.request.body.toString().includes("fails")
        ? call.reply({ status: 500, body: '{"error":{"type":"server_error"}}' })
        : call.reply({
            body: '{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}}',
          }),
  });
  const ada = await world.person("ada");
  const bob = await world.person("bob");
  const ask = async (key: string, body: object, agent = "sdk/1") => {
    const headers = { authorization: `Bearer ${key}`, "user-agent": agent, "x-proxy-tags": "app:wiki" };
    await (await world.app.api("POST", "/v1/chat/completions", body, headers)).text();
  };
  await ask(ada.key, { model: "m" });
  await ask(ada.key, { model: "m", user: "fails" });
  await ask(ada.key, { model: "free" }, FORMULA);
  await ask(bob.key, { model: "m" });
  await (await world.app.api("GET", "/stats/requests")).text();
});
afterAll(() => world.stop());

async function read(path: string, accept: string) {
  const headers = { authorization: `Bearer ${world.app.adminKey}`, accept };
  const response = await world.app.api("GET", path, undefined, headers);
  return { response, text: await response.text() };
}
/** Records without quotes alone. */
const split = (text: string) =>
  text
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));

describe("a breakdown as CSV", () => {
  test.each(["principal", "model", "provider", "key", "tag:app", "endpoint"])(
    "by %s has the rows of the JSON, each figure the same, failed, cancelled, unpriced, cached and times included",
    async (by) => {
      const path = `/stats/breakdown?by=${by}`;
      const { rows } = JSON.parse((await read(path, "application/json")).text);
      const { response, text } = await read(path, "text/csv");
      expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
      expect(response.headers.get("content-disposition")).toBe('attachment; filename="breakdown.csv"');
      const [head = [], ...lines] = split(text);
      expect(lines).toHaveLength(rows.length);
      const cell = (value: string | number | null | undefined) =>
        value === null || value === undefined ? "" : String(value);
      expect(lines.map((line) => Object.fromEntries(head.map((name, index) => [name, line[index]])))).toEqual(
        rows.map((row: any) =>
          Object.assign(
            by === "key" ? { key_label: cell(row.label), key_suffix: cell(row.key_suffix) } : {},
            {
              [by]: cell(row.value),
              requests: cell(row.requests),
              ok: cell(row.ok),
              failed: cell(row.failed),
              cancelled: cell(row.cancelled),
              unpriced: cell(row.unpriced),
              unmetered: cell(row.unmetered),
              input_tokens: cell(row.units.input_tokens),
              output_tokens: cell(row.units.output_tokens),
              cached_input_tokens: cell(row.units.cached_input_tokens),
              audio_seconds: cell(row.units.audio_seconds),
              cost: cell(row.cost),
              cost_per_request: cell(row.cost_per_request),
              duration_p50_ms: cell(row.duration_ms.p50),
              duration_p95_ms: cell(row.duration_ms.p95),
              first_byte_p50_ms: cell(row.time_to_first_byte_ms.p50),
              first_byte_p95_ms: cell(row.time_to_first_byte_ms.p95),
            },
          ),
        ),
      );
    },
  );

  test("tells people apart by what failed and what had no price, and one's own is one's own alone", async () => {
    const [head = [], ...lines] = split((await read("/stats/breakdown?by=principal", "text/csv")).text);
    const at = (person: string, name: string) =>
      lines.find(([value]) => value === person)?.[head.indexOf(name)];
    // What was read from the cache has no price.
    expect([at("ada", "requests"), at("ada", "failed"), at("ada", "unpriced")]).toEqual(["3", "1", "2"]);
    expect(at("ada", "cached_input_tokens")).toBe("8");
    expect(Number(at("ada", "duration_p50_ms"))).toBeGreaterThan(0);
    expect([at("bob", "failed"), at("bob", "unpriced")]).toEqual(["0", "1"]);
    const own = split((await read("/my/usage/breakdown?by=model", "text/csv")).text);
    expect(own).toHaveLength(1);
    expect(own[0]?.[0]).toBe("model");
  });

  test("defuses what a spreadsheet would run, and says in a header when rows are left out", async () => {
    const { text } = await read("/stats/breakdown?by=client", "text/csv");
    expect(text).toContain(`\r\n"'=HYPERLINK(""http://x.test"")",`);
    const cut = await read("/stats/breakdown?by=principal&limit=1", "text/csv");
    expect(split(cut.text)).toHaveLength(2);
    expect(cut.response.headers.get("x-proxy-truncated")).toBe("true");
    const whole = await read("/stats/breakdown?by=principal", "text/csv");
    expect(whole.response.headers.has("x-proxy-truncated")).toBe(false);
    const refused = await read("/stats/breakdown?by=nothing", "text/csv");
    expect([refused.response.status, JSON.parse(refused.text).error.code]).toEqual([400, "invalid_request"]);
  });
});
