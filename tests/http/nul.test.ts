import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { openApi } from "./openapi-reader.ts";

setDefaultTimeout(60_000);

interface Parameter {
  readonly name: string;
  readonly in: string;
}

/** Every address that can be read, with the parameters of its query. */
const ADDRESSES: readonly { readonly path: string; readonly names: readonly string[] }[] =
  Object.entries<any>(openApi.paths).flatMap(([path, { get }]) => {
    const parameters: readonly Parameter[] = get?.parameters ?? [];
    const names = parameters.flatMap((one) => (one.in === "query" ? [one.name] : []));
    return get === undefined ? [] : [{ path: path.replaceAll(/\{[^}]*\}/g, "%00"), names }];
  });

/** PostgreSQL's text holds none, and refuses a statement for one. */
const WITH_NUL = ["%00", "fast%00", "%00fast", "app:%00", "transparent:%00", "tag:%00"];
const FILTERS = ["principal", "key", "provider", "model", "client", "tag"];

let app: Awaited<ReturnType<typeof startApp>>;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  app = await startApp();
  upstream = await startUpstream({ script: (call) => call.reply({ body: '{"choices":[]}' }) });
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await app.api("POST", "/admin/v1/models", { alias: "fast", provider: "up", upstream_name: "m" });
  const answer = await app.api("POST", "/v1/chat/completions", { model: "fast", messages: [] });
  expect(answer.status).toBe(200);
  await answer.text();
  await until(
    async () => (await countRequests("")) === 1,
    () => "the request is in the log",
  );
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
});

async function countRequests(query: string): Promise<number> {
  const answer = await app.api("GET", `/stats/requests?${query}`);
  expect([query, answer.status]).toEqual([query, 200]);
  return JSON.parse(await answer.text()).total;
}

test("a NUL in a parameter of what can be read is refused or matches nothing, and fails nothing", async () => {
  expect(ADDRESSES.length).toBeGreaterThan(10);
  const failed: string[] = [];
  const read = async (address: string) => {
    const answer = await app.api("GET", address);
    await answer.body?.cancel();
    if (answer.status >= 500) failed.push(`${answer.status} ${address}`);
  };
  for (const { path, names } of ADDRESSES) {
    for (const name of names) {
      for (const value of WITH_NUL) await read(`${path}?${encodeURIComponent(name)}=${value}`);
    }
    if (path.includes("%00")) await read(path);
  }
  expect(failed).toEqual([]);
});

test.each(FILTERS)("a filter by %s with a NUL matches no request", async (name) => {
  for (const value of WITH_NUL) expect([value, await countRequests(`${name}=${value}`)]).toEqual([value, 0]);
});
