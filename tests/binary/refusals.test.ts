import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REFUSALS_KEPT } from "#views/refusals.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess, startProcess } from "../support/process.ts";
import { until } from "../support/waiting.ts";

const LOCKPORT = await executable();
const FLOOD = 3_000;

test("a flood of refusals keeps the newest 1,000, and a kill loses none that is written down", async () => {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const env = { PROXY_DATA_DIR: dataDir, PROXY_PORT: "0", PROXY_LOG: "error" };
  const { data } = await runProcess([LOCKPORT, "admin", "bootstrap"], { env });
  const headers = { authorization: `Bearer ${data.trim()}` };
  const killed = await startProcess([LOCKPORT], { env });
  const refuse = async () => {
    const body = '{"model":"nope","messages":[]}';
    const response = await fetch(`${killed.url}/v1/chat/completions`, { method: "POST", headers, body });
    await response.text();
    return response.headers.get("x-proxy-request-id");
  };
  const path = join(dataDir, "refusals.jsonl");
  const first = await refuse();
  for (let sent = 0; sent < FLOOD; sent += 100) await Promise.all(Array.from({ length: 100 }, refuse));
  const last = await refuse();
  const readIds = () =>
    readFileSync(path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id);
  await until(
    () => existsSync(path) && readIds().at(-1) === last,
    () => "the last refusal is written down",
  );
  expect(readIds()).toHaveLength(REFUSALS_KEPT);
  killed.signal("SIGKILL");
  await killed.exited;

  const server = await startProcess([LOCKPORT], { env });
  const find = async (id: string | null) =>
    (await fetch(`${server.url}/stats/requests/${id}`, { headers })).status;
  expect([await find(last), await find(first)]).toEqual([200, 404]);
  expect(await server.stop()).toBe(0);
  folder.remove();
}, 60_000);
