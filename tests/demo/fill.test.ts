import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { LIVE_MODELS } from "../../contrib/demo/catalogue.ts";
import { fillDemo, type Filled } from "../../contrib/demo/fill.ts";
import { startModelServer } from "../../contrib/demo/model-server.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger, checkReports } from "../support/invariants.ts";

/** A Wednesday afternoon: eight days before it hold a weekend and the whole week around it. */
const UNTIL_US = Date.UTC(2026, 10, 18, 15, 30) * 1000;
const DAYS = 8;
const HOUR_US = 3_600_000_000;
const WAIT_MS_MAX = 60_000;

interface Limit {
  readonly name: string;
  readonly measure: string;
  readonly action: string;
  readonly used: number;
  readonly amount: number;
}

const folder = makeFolder();
let filled: Filled;
let app: TestApp;

beforeAll(async () => {
  filled = await fillDemo(join(folder.path, "first"), { days: DAYS, untilUs: UNTIL_US, seed: 5 });
  app = await serve(filled);
}, WAIT_MS_MAX);

afterAll(async () => {
  await app.stop();
  folder.remove();
}, WAIT_MS_MAX);

describe("a filled folder", () => {
  test(
    "keeps every invariant of a ledger, and every report counts the same requests",
    async () => {
      const events = checkLedger(filled.dataDir, { isAtRest: true, eventCount: filled.events });
      expect(events.length).toBeGreaterThan(3_000);
      for (const event of events) {
        expect(event.id).toBeGreaterThanOrEqual(filled.fromUs);
        expect(event.id + event.duration_us).toBeLessThanOrEqual(UNTIL_US);
      }
      await checkReports(app.url, app.adminKey);
    },
    WAIT_MS_MAX,
  );

  test("has days, nights, a weekend, and an end that is busy", async () => {
    const { series } = await read(
      `/stats/series?bucket=hour&since=${at(filled.fromUs)}&until=${at(UNTIL_US)}`,
    );
    const sumOf = (wanted: (start: Date) => boolean) =>
      sum(series.filter((each: Bucket) => wanted(new Date(each.start))).map((each: Bucket) => each.requests));
    const ofWeekday = (day: number) => sumOf((start) => start.getUTCDay() === day);
    expect(ofWeekday(0)).toBeGreaterThan(0);
    expect(ofWeekday(1)).toBeGreaterThan(2 * ofWeekday(0));
    expect(ofWeekday(1)).toBeGreaterThan(2 * ofWeekday(6));
    const onMonday = (hour: number) =>
      sumOf((start) => start.getUTCDay() === 1 && start.getUTCHours() === hour);
    expect(onMonday(14)).toBeGreaterThan(4 * onMonday(5));

    const { requests } = await read("/stats/requests?limit=500");
    const recent = requests.filter(
      ({ ts }: { ts: string }) => Date.parse(ts) * 1000 > UNTIL_US - HOUR_US / 4,
    );
    expect(recent.length).toBeGreaterThan(20);
  });

  test("has an incident of three hours in which most of one provider's requests failed, and none beside it", async () => {
    const [outage] = filled.incidents;
    if (outage === undefined) throw new Error("there is no incident");
    expect(outage).toMatchObject({ provider: "openrouter", untilUs: outage.fromUs + 3 * HOUR_US });
    const failedShare = async (fromUs: number, untilUs: number) => {
      const window = `since=${at(fromUs)}&until=${at(untilUs)}&provider=openrouter`;
      const { series, breakdown } = await read(`/stats/errors?${window}`);
      const failed = sum(series.map((each: Outcomes) => each.upstream_error + each.unreachable));
      const all = sum(series.map((each: Outcomes) => each.ok + each.cancelled)) + failed;
      return { share: failed / all, kinds: breakdown.map((each: { error_kind: string }) => each.error_kind) };
    };
    const during = await failedShare(outage.fromUs, outage.untilUs);
    expect(during.share).toBeGreaterThan(0.6);
    expect(during.kinds).toEqual(expect.arrayContaining(["rate_limit_error", "timeout"]));
    expect((await failedShare(outage.untilUs + HOUR_US / 4, UNTIL_US)).share).toBeLessThan(0.12);
  });

  test("has every kind of request that a page has to show", async () => {
    const facets = await read("/stats/requests/facets");
    const outcomes = new Set<string>();
    for (const outcome of ["ok", "upstream_error", "unreachable", "cancelled"]) {
      const { total } = await read(`/stats/requests?limit=1&outcome=${outcome}`);
      if (total > 0) outcomes.add(outcome);
    }
    expect([...outcomes]).toEqual(["ok", "upstream_error", "unreachable", "cancelled"]);
    for (const client of ["OpenAI/Python", "OpenAI/JS", "langchain", "Continue", "Aider", "claude-cli"])
      expect(facets.clients.join(" ")).toContain(client);
    for (const tag of ["app:", "team:", "env:"]) expect(facets.tags.join(" ")).toContain(tag);
    expect(facets.providers).toContain("transparent:messages");

    const events = checkLedger(filled.dataDir);
    expect(events.some((event) => (event.cached_input_tokens ?? 0) > 0)).toBe(true);
    expect(events.some((event) => (event.audio_seconds ?? 0) > 0)).toBe(true);
    expect(events.some((event) => event.shape === "exclusive" && (event.cache_write_tokens ?? 0) > 0)).toBe(
      true,
    );
    const unpricedOf = async (model: string) => {
      const { series } = await read(`/stats/series?bucket=day&model=${encodeURIComponent(model)}`);
      return {
        requests: sum(series.map((each: Bucket) => each.requests)),
        unpriced: sum(series.map((each: Bucket) => each.unpriced_requests)),
        isCostly: series.some((each: Bucket) => each.cost !== null),
      };
    };
    const llama = await unpricedOf("llama3.2:3b");
    expect(llama.unpriced).toBeGreaterThan(0);
    expect(llama.isCostly).toBe(false);
    const voxtral = await unpricedOf("voxtral-small");
    expect(voxtral.unpriced).toBeGreaterThan(0);
    expect(voxtral.isCostly).toBe(true);
    const gpt5 = await unpricedOf("gpt-5");
    expect(gpt5.requests).toBeGreaterThan(0);
    expect(gpt5).toMatchObject({ unpriced: 0, isCostly: true });
  });

  test("has a catalog, people, keys and an audit log that tell a story", async () => {
    const { providers } = await read("/admin/v1/providers");
    const disabled = providers.filter((each: { enabled?: boolean }) => each.enabled === false);
    expect(providers.map((each: { name: string }) => each.name)).toEqual([
      "ollama-desk",
      "openai",
      "openrouter",
      "together",
      "vllm-lab",
    ]);
    expect(disabled.map((each: { name: string }) => each.name)).toEqual(["together"]);
    const { models } = await read("/admin/v1/models?limit=100");
    expect(models.filter((each: { hidden: boolean }) => each.hidden)).toHaveLength(1);
    expect(models.filter((each: { target: string | null }) => (each.target ?? null) !== null)).toHaveLength(
      3,
    );

    const { principals } = await read("/admin/v1/principals?limit=100");
    const names = principals.map((each: { name: string }) => each.name);
    expect(names).toContain("ada");
    expect(names).not.toContain("tony");
    expect(principals.filter((each: { kind: string }) => each.kind === "service")).toHaveLength(3);
    const { total: keptRequests } = await read("/stats/requests?limit=1&principal=tony");
    expect(keptRequests).toBeGreaterThan(0);
    const { keys } = await read("/admin/v1/keys?limit=100");
    const labels = keys.map((each: { label: string }) => each.label);
    expect(labels).toContain("laptop (new)");
    expect(labels).not.toContain("spreadsheet trial");
    expect(keys.some((each: { last_used_at: string | null }) => each.last_used_at !== null)).toBe(true);

    const { events } = await read("/admin/v1/events?limit=500");
    const actions = new Set(events.map((each: { action: string }) => each.action));
    for (const action of [
      "provider.update",
      "model.delete",
      "principal.delete",
      "key.delete",
      "pricing.load",
    ])
      expect(actions).toContain(action);
    const times = events.map((each: { ts: string }) => each.ts);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test("has limits of each measure with what was used of them, none of which it broke, and a key that ends soon", async () => {
    const { limits } = await read("/admin/v1/limits");
    expect(new Set(limits.map((each: Limit) => each.measure))).toEqual(
      new Set(["cost", "requests", "tokens", "concurrent"]),
    );
    for (const { name, action, used, amount } of limits)
      if (action === "refuse") expect({ name, isBroken: used > amount }).toEqual({ name, isBroken: false });
    const everyone = limits.find((each: Limit) => each.name === "everyone: month");
    expect(everyone.used).toBeGreaterThan(0);
    const { keys } = await read("/admin/v1/keys?limit=100");
    const ends = keys.flatMap((each: { expires_at?: string }) => each.expires_at ?? []);
    expect(ends.map((end: string) => (Date.parse(end) * 1000 - UNTIL_US) / HOUR_US)).toEqual([167.5]);
  });

  test("lets an admin and a member in with the keys that it names, and no key stands in a file", async () => {
    const asMember = { authorization: `Bearer ${filled.memberKey}` };
    const asAdmin = { authorization: `Bearer ${filled.adminKey}` };
    expect((await app.api("GET", "/my/keys", undefined, asMember)).status).toBe(200);
    expect((await app.api("GET", "/admin/v1/providers", undefined, asMember)).status).toBe(403);
    expect((await app.api("GET", "/admin/v1/providers", undefined, asAdmin)).status).toBe(200);
    for (const path of readdirSync(filled.dataDir, { recursive: true, encoding: "utf8" })) {
      const file = join(filled.dataDir, path);
      if (!statSync(file).isFile()) continue;
      const bytes = readFileSync(file);
      expect(bytes.includes(filled.adminKey)).toBe(false);
      expect(bytes.includes(filled.memberKey)).toBe(false);
    }
  });

  test("is not filled a second time, and stays as it was", async () => {
    const before = (await read("/stats/requests?limit=1")).total;
    const refusal = await fillDemo(filled.dataDir, { days: DAYS }).catch(String);
    expect(refusal).toContain("holds an installation already");
    expect((await read("/stats/requests?limit=1")).total).toBe(before);
  });
});

test(
  "the same seed and end make the same reports under other secrets, and another seed does not",
  async () => {
    const reportsOf = async (seed: number) => {
      const own = join(folder.path, crypto.randomUUID());
      const other = await fillDemo(own, { days: 3, untilUs: UNTIL_US, seed });
      const server = await serve(other);
      try {
        const window = `since=${at(other.fromUs)}&until=${at(other.untilUs)}`;
        const paths = [
          "series?bucket=hour&",
          "summary?",
          "requests/facets?",
          "errors?",
          "requests?limit=500&",
        ];
        const reports: string[] = [];
        for (const path of paths) {
          const response = await server.api("GET", `/stats/${path}${window}`);
          expect(response.status).toBe(200);
          // The last characters of a key are shown, which are as new as the key.
          reports.push((await response.text()).replaceAll(/"key_suffix":"\w{4}"/g, ""));
        }
        return { key: other.adminKey, events: other.events, reports };
      } finally {
        await server.stop();
      }
    };
    const [one, again, another] = [await reportsOf(9), await reportsOf(9), await reportsOf(10)];
    expect(again.reports).toEqual(one.reports);
    expect(again.events).toBe(one.events);
    expect(again.key).not.toBe(one.key);
    expect(another.reports).not.toEqual(one.reports);
  },
  WAIT_MS_MAX,
);

test(
  "with a model server the models of one provider answer, and their requests are recorded like any others",
  async () => {
    const models = await startModelServer({
      port: 0,
      wordPauseMs: 0,
      chatModels: LIVE_MODELS.chat,
      embeddingModels: LIVE_MODELS.embeddings,
    });
    const own = join(folder.path, crypto.randomUUID());
    const live = await fillDemo(own, { days: 3, liveBaseUrl: models.baseUrl });
    const server = await startApp({ dataDir: live.dataDir });
    try {
      const asMember = { authorization: `Bearer ${live.memberKey}` };
      const messages = [{ role: "user", content: "Hello" }];
      const calls = [
        ["/v1/chat/completions", { model: "qwen3-32b", messages, stream: true }, "data: [DONE]"],
        ["/v1/completions", { model: "qwen3-coder", prompt: "let x" }, "Qwen/Qwen3-Coder"],
        ["/v1/embeddings", { model: "bge-m3", input: "x" }, "BAAI/bge-m3"],
      ] as const;
      for (const [path, body, expected] of calls) {
        const response = await server.api("POST", path, body, asMember);
        expect(response.status).toBe(200);
        expect(await response.text()).toContain(expected);
      }
      const since = at(live.untilUs + 1_000);
      const logged = await server.api("GET", `/stats/requests?since=${since}&provider=vllm-lab`);
      expect(await logged.json()).toMatchObject({ total: calls.length });
    } finally {
      await server.stop();
      await models.stop();
    }
  },
  WAIT_MS_MAX,
);

test("days outside of their limits are refused before anything is made", async () => {
  const dataDir = join(folder.path, "refused");
  for (const days of [0, 2, 2.5, 401, Number.NaN])
    expect(await fillDemo(dataDir, { days }).catch(String)).toContain("from 3 to 400");
  expect(readdirSync(folder.path)).not.toContain("refused");
});

interface Bucket {
  readonly start: string;
  readonly requests: number;
  readonly unpriced_requests: number;
  readonly cost: number | null;
}

interface Outcomes {
  readonly ok: number;
  readonly upstream_error: number;
  readonly unreachable: number;
  readonly cancelled: number;
}

/** Served at the moment at which it ends. */
function serve({ dataDir, untilUs }: Filled): Promise<TestApp> {
  const clock = { nowUs: () => untilUs, monotonicMs: () => performance.now() };
  return startApp({ dataDir }, { clock });
}

async function read(path: string) {
  const response = await app.api("GET", path);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

function at(instantUs: number): string {
  return new Date(instantUs / 1000).toISOString();
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
