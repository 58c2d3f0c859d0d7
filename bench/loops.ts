/**
 * What others notice of a member who sends one request after the other: `bun bench/loops.ts` (after `npm run build`). Medians
 * of another member's requests, alone and beside a loop over each of the routes that a member may call.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, freePort, serve } from "./executable.ts";

const ROUNDS = 100;
/** Each with a tag of its own: reports are as long as a member can make them. */
const SEEDED = 4_000;
const SEEDED_AT_ONCE = 50;
const COMPLETION = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
const CHAT = "/v1/chat/completions";
const NOTHING = "019cdd2a-7c00-7000-8000-00000000dead";

const LOOPS = [
  ["POST", "/my/keys"],
  ["POST", "/my/relay-tokens"],
  ["DELETE", `/my/keys/${NOTHING}`],
  ["GET", "/my/keys"],
  ["GET", "/my/usage"],
  ["GET", "/my/usage/series"],
  ["GET", "/stats/summary"],
  ["GET", "/stats/series?group_by=tag:trace"],
  ["GET", "/stats/errors"],
  ["GET", "/stats/requests?limit=500"],
  ["GET", "/stats/requests/facets"],
  ["GET", "/v1/models"],
  ["GET", "/openapi.json"],
  ["POST", CHAT],
] as const;
const PROBES = [
  ["POST", CHAT],
  ["GET", "/my/keys"],
  ["GET", "/my/usage"],
] as const;

const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response(COMPLETION, { headers: { "content-type": "application/json" } }),
});
const dataDir = mkdtempSync(join(tmpdir(), "lockport-loops-"));
const env = { PATH: process.env["PATH"] ?? "", PROXY_DATA_DIR: dataDir };
const bootstrap = Bun.spawnSync([BINARY, "admin", "bootstrap", "--json"], { env });
const { key: adminKey } = JSON.parse(bootstrap.stdout.toString()) as { key: string };
// On all cores: reports are read beside the thread that serves.
const lockport = await serve(BINARY, dataDir, freePort());

async function make(path: string, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
  const response = await fetch(lockport.origin + path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return await response.json();
}

async function makeMember(name: string): Promise<string> {
  await make("/admin/v1/principals", { name });
  const made = (await make("/admin/v1/keys", { principal: name })) as { key: string };
  return made.key;
}

async function send(key: string, [method, path]: readonly [string, string], tags = ""): Promise<number> {
  const response = await fetch(lockport.origin + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-proxy-tags": tags },
    ...(method === "POST" && { body: '{"model":"bench","messages":[]}' }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function measure(key: string, probe: (typeof PROBES)[number]): Promise<number> {
  const durationsMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedMs = performance.now();
    const status = await send(key, probe);
    if (status !== 200) throw new Error(`${probe[1]}: ${status}`);
    durationsMs.push(performance.now() - startedMs);
  }
  return durationsMs.toSorted((one, other) => one - other)[ROUNDS / 2] ?? 0;
}

try {
  const baseUrl = `http://127.0.0.1:${upstream.port}/v1`;
  await make("/admin/v1/providers", { name: "bench", base_url: baseUrl });
  const model = { alias: "bench", provider: "bench", upstream_name: "bench", capabilities: ["chat"] };
  await make("/admin/v1/models", model);
  const [other, looping] = [await makeMember("other"), await makeMember("looping")];
  for (let sent = 0; sent < SEEDED; sent += SEEDED_AT_ONCE) {
    const tagged = Array.from({ length: SEEDED_AT_ONCE }, (_, index) =>
      send(looping, ["POST", CHAT], `trace:${sent + index}`),
    );
    await Promise.all(tagged);
  }
  for (const probe of PROBES) await measure(other, probe);
  console.log(
    `| the loop | ${PROBES.map(([, path]) => `\`${path}\``).join(" | ")} |\n| --- | --- | --- | --- |`,
  );
  for (const loop of LOOPS) {
    const cells: string[] = [];
    for (const probe of PROBES) {
      const aloneMs = await measure(other, probe);
      const looped = { ends: false };
      const running = (async () => {
        while (!looped.ends) await send(looping, loop);
      })();
      const besideMs = await measure(other, probe);
      looped.ends = true;
      await running;
      cells.push(`${aloneMs.toFixed(2)} → ${besideMs.toFixed(2)} ms (${(besideMs / aloneMs).toFixed(1)})`);
    }
    console.log(`| ${loop.join(" ")} | ${cells.join(" | ")} |`);
  }
} finally {
  await lockport.stop();
  await upstream.stop(true);
  rmSync(dataDir, { recursive: true, force: true });
}
