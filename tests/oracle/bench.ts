import { Database } from "bun:sqlite";
import type { StatsStore } from "#stats/store.ts";
import { toScript } from "#storage/reports/reports.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { createStats } from "#storage/threads/stats.ts";
import { call, createCaller, startHarness, type Harness } from "../http/support.ts";
import { MODELS, type Cast } from "./events.ts";
import type { Answer, Question, World } from "./oracle.ts";

/** The interface on a catalog with a past, and ledgers that it can be pointed at. */
export interface Bench {
  readonly cast: Cast;
  /** The names that reports have beside the ledger. */
  readonly names: Pick<World, "providers" | "keys" | "models" | "named">;
  /** Asks the interface, over a socket when `socket` says so. */
  ask(question: Question, socket?: boolean): Promise<Asked>;
  /** From now on reports are read from this ledger, at this moment. */
  pointAt(ledger: Database | StatsStore, nowUs: number): void;
  stop(): Promise<void>;
}

export interface Asked {
  readonly answer: Answer;
  readonly text: string;
  /** The window that was counted instead, where retention has taken away what the question needs. */
  readonly counted: { readonly sinceUs: number; readonly untilUs: number } | null;
}

const PRICES_OF_FAST = { input_tokens: 1, audio_seconds: 2 };
/** Prices of names that are no models, of which the relay passes one on. */
const NAMED: World["named"] = new Map([["Renamed", ["output_tokens", "cached_input_tokens"]]]);

/** `bob` and `alice`, who has deleted a key; `openai`, `local`, and the model `fast` with some prices. Both names of a deleted predecessor live on in events. */
export async function startBench(): Promise<Bench> {
  let stats = createStats(() => Promise.reject(new Error("the bench is not pointed at a ledger")), null);
  let nowUs = 0;
  const harness: Harness = await startHarness({
    clock: { nowUs: () => nowUs, monotonicMs: () => performance.now() },
    stats: new Proxy(stats, { get: (_, name) => Reflect.get(stats, name) }),
  });
  for (const name of ["openai", "local"]) {
    const body = { name, base_url: "http://127.0.0.1:1/v1" };
    const { status } = await call(harness, "POST", "/admin/v1/providers", { body });
    if (status !== 201) throw new Error(`the provider was refused: ${status}`);
  }
  const priced = { alias: "fast", provider: "openai", upstream_name: "up", pricing: PRICES_OF_FAST };
  const model = await call(harness, "POST", "/admin/v1/models", { body: priced });
  const entries = [...NAMED].flatMap(([name, units]) =>
    units.map((unit) => ({ model: name, unit, price_per_million: 1 })),
  );
  const feed = await call(harness, "POST", "/admin/v1/pricing", { body: { version: "1", entries } });
  if (model.status !== 201 || feed.status !== 200) throw new Error("the prices were refused");
  const { providers } = await harness.deps.catalog.snapshot();
  const alice = await createCaller(harness, "alice");
  const bob = await createCaller(harness, "bob", "admin");
  const living = [alice, bob].map(({ keyId, key }) => [keyId, { label: "", suffix: key.slice(-4) }] as const);
  const idOf = (wanted: string) => providers.find(({ name }) => name === wanted)?.id ?? "";
  const headers = { authorization: `Bearer ${bob.key}` };
  return {
    cast: {
      aliceId: alice.principal.id,
      bobId: bob.principal.id,
      aliceKeyId: alice.keyId,
      bobKeyId: bob.keyId,
      openaiId: idOf("openai"),
      localId: idOf("local"),
    },
    names: {
      providers: new Map(providers.map(({ id, name }) => [id, name])),
      keys: new Map(living),
      models: new Map([["fast", ["input_tokens", "audio_seconds"]]]),
      named: new Map([...NAMED, ["fast", ["input_tokens", "audio_seconds"]]]),
    },
    async ask({ path, report }, socket = false) {
      const url = harness.url + path;
      const asked = report === "what-if" ? toWhatIf(url, headers) : new Request(url, { headers });
      const response = socket ? await fetch(asked) : await harness.app.fetch(asked, null);
      const text = await response.text();
      const body = JSON.parse(text);
      if (response.status === 400) {
        // Its request's id is another one each time.
        delete body.proxy.request_id;
        return { answer: { status: 400, code: body.error.code }, text: JSON.stringify(body), counted: null };
      }
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
      const isWhole = !response.headers.has("x-proxy-truncated") || report === "facets";
      if (!isWhole) throw new Error(`a limit left rows of ${path} out`);
      const counted = toCounted(response.headers.get("x-proxy-window"));
      return { answer: { status: 200, body }, text, counted };
    },
    pointAt(ledger, atUs) {
      // A file is read without the reader's thread.
      stats =
        ledger instanceof Database
          ? createStats(async (name, question) => readFrom(ledger, toScript(name, question)), null)
          : ledger;
      nowUs = atUs;
    },
    stop: () => harness.stop(),
  };
}

/** A body asks the question of the models that it names, or of all. */
function toWhatIf(url: string, headers: Readonly<Record<string, string>>): Request {
  const { origin, pathname, searchParams } = new URL(url);
  const named = searchParams.getAll("model").filter((name) => name !== "");
  const filters = new Map<string, string[]>();
  for (const [name, value] of searchParams) {
    if (!FILTERS.has(name)) continue;
    filters.set(name, [...(filters.get(name) ?? []), value]);
  }
  const body = {
    since: searchParams.get("since") ?? undefined,
    until: searchParams.get("until") ?? undefined,
    models: Object.fromEntries((named.length === 0 ? MODELS : named).map((name) => [name, "fast"])),
    filters: Object.fromEntries(filters),
  };
  return new Request(origin + pathname, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const FILTERS: ReadonlySet<string> = new Set([
  "principal",
  "key",
  "provider",
  "client",
  "tag",
  "outcome",
  "error_kind",
  "status",
  "tier",
  "unpriced",
  "min_cost",
  "max_cost",
  "min_duration_ms",
  "max_duration_ms",
]);

function toCounted(header: string | null): Asked["counted"] {
  if (header === null) return null;
  const [sinceUs = Number.NaN, untilUs = Number.NaN] = header.split("/").map(toInstantUs);
  return { sinceUs, untilUs };
}

/** Parses the one spelling that the interface has, `….ssssssZ`: `Date` knows but milliseconds. */
function toInstantUs(text: string): number {
  const micros = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})Z$/.exec(text)?.[1];
  if (micros === undefined) throw new Error(`x-proxy-window has ${text}`);
  return Date.parse(text) * 1000 + Number(micros);
}
