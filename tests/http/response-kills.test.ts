import { afterEach, beforeEach, expect, test } from "bun:test";
import { createChance, type Chance } from "../support/chance.ts";
import { executable } from "../support/executable.ts";
import { callApi, makeInstallation, type Installation } from "../support/installation.ts";
import type { RunningProcess } from "../support/process.ts";
import { startResponsesProvider, toEvent, type ResponsesProvider } from "../support/responses-provider.ts";
import { readNumber, scale } from "../support/scale.ts";
import { until } from "../support/waiting.ts";

/** The long run takes 1,000. */
const RESPONSES = readNumber("LOCKPORT_RESPONSES") ?? 100 * scale;
const POLLS = 10;
const KILLS = 4;
const CALLERS = 10;
/** A step meets each kill once, and what a killed server leaves for its next start. */
const ATTEMPTS_MAX = 3 * KILLS;
const TEST_MS_MAX = 120_000 + RESPONSES * 500;
/** 9 input tokens, 2 of them cached, and 4 output tokens. */
const COST = 11;
const PRICING = { input_tokens: 1_000_000, output_tokens: 1_000_000, cached_input_tokens: 0 };

let provider: ResponsesProvider;
let installation: Installation;
let server: RunningProcess;
beforeEach(async () => {
  provider = await startResponsesProvider();
  installation = await makeInstallation(await executable());
}, 120_000);
afterEach(async () => {
  await installation.remove();
  await provider.stop();
});

test(
  "responses in the background that are polled ten times each, through kills, cost what one answer of each costs",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    server = await installation.start();
    await made("/admin/v1/providers", { name: "openai", base_url: provider.baseUrl });
    const capabilities = ["responses"];
    await made("/admin/v1/models", {
      alias: "gpt",
      provider: "openai",
      upstream_name: "gpt",
      capabilities,
      pricing: PRICING,
    });

    // A creation whose answer a kill took is made again: the caller knows nothing of the first.
    const ids: string[] = [];
    await withKills(chance, RESPONSES, async () => {
      const response = await ask("POST", "/v1/responses", { model: "gpt", input: "hello", background: true });
      ids.push(((await response.json()) as { id: string }).id);
    });
    expect(new Set(ids).size).toBe(RESPONSES);
    for (const response of provider.made.values()) response.status = "completed";

    const polls = ids.flatMap((id) => Array.from({ length: POLLS }, () => id));
    await withKills(chance, polls.length, async (at) => {
      const response = await ask("GET", `/v1/responses/${polls[(at * 7) % polls.length]}`);
      expect(await response.json()).toMatchObject({ status: "completed" });
    });

    await until(
      async () => (await costs()).filter((cost) => cost !== null).length >= RESPONSES,
      () => "not all were settled",
    );
    const rows = await costs();
    expect(rows.filter((cost) => cost !== null)).toEqual(Array<number>(RESPONSES).fill(COST));
    // What is left is of callers that were never told an id: some of it had not reached the provider.
    expect(rows.length).toBeGreaterThanOrEqual(provider.made.size);
    console.log(`responses: ${RESPONSES}, ${rows.length - RESPONSES} unanswered, seed ${chance.seed}`);
    expect(await server.stop()).toBe(0);
  },
  TEST_MS_MAX,
);

test("a stream in the background that a kill cuts off leaves a pending event, which a poll settles", async () => {
  await provider.stop();
  provider = await startResponsesProvider({
    answer(call, { made }) {
      if (call.request.method !== "POST") return false;
      const response = {
        id: "resp_bg",
        isBackground: true,
        isStored: true,
        status: "queued",
        deleted: false,
      };
      made.set(response.id, response);
      void call.beginStream().then(() => call.sendChunk(toEvent("response.created", response)));
      return true;
    },
  });
  server = await installation.start();
  await made("/admin/v1/providers", { name: "openai", base_url: provider.baseUrl });
  const model = { alias: "gpt", provider: "openai", upstream_name: "gpt", capabilities: ["responses"] };
  await made("/admin/v1/models", { ...model, pricing: PRICING });
  const asked = { model: "gpt", input: "hello", background: true, stream: true };
  const reader = (await ask("POST", "/v1/responses", asked)).body!.getReader();
  await reader.read();
  server.signal("SIGKILL");
  await server.exited;
  await reader.cancel().catch(() => undefined);
  server = await installation.start();
  const row = async () => {
    const { requests }: any = await (await ask("GET", "/admin/v1/requests?limit=10")).json();
    return requests.find(({ endpoint }: any) => endpoint === "responses");
  };
  expect(await row()).toMatchObject({ outcome: "ok", pending: true, cost: null, error_kind: null });
  provider.made.get("resp_bg")!.status = "completed";
  await (await ask("GET", "/v1/responses/resp_bg")).text();
  // A report waits half a second for what has just ended, and the writer of the killed server may be held longer.
  await until(
    async () => (await row()).cost !== null,
    () => "the poll has settled nothing",
  );
  const settled = await row();
  expect(settled).toMatchObject({ outcome: "ok", cost: COST });
  expect(settled).not.toHaveProperty("pending");
  expect(await server.stop()).toBe(0);
}, 120_000);

/** Does `count` steps by some callers at once, each until it has gone through, and kills the server at random steps in between. */
async function withKills(chance: Chance, count: number, step: (at: number) => Promise<void>): Promise<void> {
  const killedAt = new Set(Array.from({ length: KILLS }, () => chance.below(count)));
  let next = 0;
  let restarting: Promise<void> | null = null;
  const work = async () => {
    for (let at = next++; at < count; at = next++) {
      if (killedAt.has(at)) restarting = (restarting ?? Promise.resolve()).then(restart);
      for (let attempt = 1; ; attempt += 1) {
        await restarting;
        try {
          await step(at);
          break;
        } catch (cause) {
          if (restarting === null || attempt === ATTEMPTS_MAX) throw cause;
          await restarting;
        }
      }
    }
  };
  const restart = async () => {
    await Bun.sleep(chance.below(20));
    server.signal("SIGKILL");
    await server.exited;
    server = await installation.start();
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
}

async function ask(method: string, path: string, body?: unknown): Promise<Response> {
  const response = await callApi(server.url, installation.adminKey, method, path, body);
  if (!response.ok)
    throw new Error(`${method} ${path.slice(0, 14)}: ${response.status} ${await response.text()}`);
  return response;
}

const made = async (path: string, body: unknown) => void (await (await ask("POST", path, body)).text());

/** They are the costs of every creation that has ended. */
async function costs(): Promise<readonly (number | null)[]> {
  const found: (number | null)[] = [];
  for (let offset = 0; ; offset += 500) {
    const response = await ask("GET", `/admin/v1/requests?limit=500&offset=${offset}`);
    const { requests }: any = await response.json();
    for (const { endpoint, cost } of requests) if (endpoint === "responses") found.push(cost);
    if (requests.length < 500) return found;
  }
}
