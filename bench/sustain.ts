/** The writer at 20,000 events/s on a filled ledger: a part of `bun bench/stats.ts` (`--only sustain`). */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DAY_US, createSystemClock } from "#kernel/clock.ts";
import type { PriceSet } from "#kernel/units.ts";
import { filterBy } from "#stats/filter.ts";
import type { StatsQuery, StatsStore } from "#stats/store.ts";
import { listSegments, segmentPath } from "#storage/journal/segments.ts";
import { openForReading } from "#storage/sqlite/ledger/file/database.ts";
import type { UsageEnding, UsageBeginning } from "#usage/event.ts";
import type { OpenUsage } from "#usage/store.ts";
import { createChance, createZipf } from "./chance.ts";
import { silentLog, type Site } from "./population.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { toEnding } from "./traffic.ts";
import { percentile } from "./table.ts";
import { openLedger } from "../tests/support/ledger.ts";

/** Requests under way at once: one more ends the oldest. */
const OPEN = 64;
const PREPARED = 20_000;
const SAMPLE_INTERVAL_MS = 5;

export interface Sustained {
  readonly perSecond: number;
  readonly events: number;
  /** Events in the journal that were not committed. */
  readonly backlog: {
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
    readonly atEnd: number;
  };
  /** From the last event until everything was committed. */
  readonly drainMs: number;
  /** The longest time in which something waited and nothing was committed. */
  readonly pauseMs: { readonly p99: number; readonly max: number };
  readonly walMegabytesMax: number;
  readonly questions: ReadonlyMap<string, readonly number[]>;
}

/**
 * Records at a steady rate through the product's recorder, with its writer and reader in one process, and meanwhile asks
 * for reports without a pause. Days are sealed and rows removed as at any start; recording goes on until that is done.
 */
export async function sustain(
  dataDir: string,
  options: {
    readonly perSecond: number;
    readonly seconds: number;
    readonly asks: boolean;
    readonly retentionDays: number | null;
  },
): Promise<Sustained> {
  const { perSecond, seconds, asks, retentionDays } = options;
  const clock = createSystemClock();
  const prepared = prepareUsages(dataDir);
  const opened = await openLedger({ dataDir, clock, log: silentLog, sync: "interval", retentionDays });
  const watch = new BacklogWatch(dataDir);
  const stopped = new AbortController();
  const questions = new Map<string, number[]>();
  const asking = asks ? askOn(opened.stats, questions, stopped.signal) : Promise.resolve();
  // Answered after the one that opening a ledger begins.
  let isMaintaining = true;
  void opened.maintain().finally(() => (isMaintaining = false));

  const startedMs = performance.now();
  const open: { readonly usage: OpenUsage; readonly ending: UsageEnding }[] = [];
  let count = 0;
  let walBytesMax = 0;
  let sampledMs = startedMs;
  for (;;) {
    const passedMs = performance.now() - startedMs;
    if (passedMs >= seconds * 1000 && !isMaintaining) break;
    for (const due = (passedMs / 1000) * perSecond; count < due; count += 1) {
      const { subject, ending } = prepared[count % PREPARED]!;
      open.push({ usage: opened.ledger.open({ ...subject, arrivedAtUs: clock.nowUs() }), ending });
      const oldest = open.length > OPEN ? open.shift() : undefined;
      if (oldest !== undefined) await oldest.usage.end(oldest.ending);
    }
    if (performance.now() - sampledMs >= SAMPLE_INTERVAL_MS) {
      sampledMs = performance.now();
      watch.sample();
      walBytesMax = Math.max(walBytesMax, statSync(join(dataDir, "usage.db-wal")).size);
    }
    await Bun.sleep(1);
  }
  await Promise.all(open.map(({ usage, ending }) => usage.end(ending)));
  const tookSeconds = (performance.now() - startedMs) / 1000;
  watch.sample();
  const endedMs = performance.now();
  await opened.ledger.flush();
  const drainMs = performance.now() - endedMs;
  stopped.abort();
  await asking;
  await opened.close();
  const bytesPerEvent = watch.journalBytes / count;
  const toEvents = (bytes: number) => Math.round(bytes / bytesPerEvent);
  watch.close();
  return {
    perSecond: count / tookSeconds,
    events: count,
    backlog: {
      p50: toEvents(percentile(watch.backlogBytes, 0.5)),
      p99: toEvents(percentile(watch.backlogBytes, 0.99)),
      max: toEvents(Math.max(...watch.backlogBytes)),
      atEnd: toEvents(watch.backlogBytes.at(-1) ?? 0),
    },
    drainMs,
    pauseMs: { p99: percentile(watch.pausesMs, 0.99), max: Math.max(0, ...watch.pausesMs) },
    walMegabytesMax: walBytesMax / 1e6,
    questions,
  };
}

/** Asks one question after the other, each kind in turn, as dashboards of many people do. */
async function askOn(stats: StatsStore, times: Map<string, number[]>, signal: AbortSignal): Promise<void> {
  const nowUs = Date.now() * 1000;
  const toQuery = (days: number, filter: Partial<StatsQuery["filter"]> = {}): StatsQuery => ({
    window: { sinceUs: nowUs - days * DAY_US, untilUs: null },
    filter: filterBy(filter),
    providers: { include: null, exclude: [] },
    principalId: null,
  });
  const context = { nowUs, providerNames: new Map<string, string>() };
  const page = { limit: 100, offset: 0 };
  const client = { clientPrefixes: ["OpenAI/"] };
  const kinds: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["series, hour, 41 days", () => stats.readSeries({ ...toQuery(40), bucket: "hour", nowUs })],
    [
      "series, hour, 41 days, filtered",
      () => stats.readSeries({ ...toQuery(40, client), bucket: "hour", nowUs }),
    ],
    [
      "series, day, 12 months, filtered",
      () => stats.readSeries({ ...toQuery(365, client), bucket: "day", nowUs }),
    ],
    ["facets, 12 months", () => stats.readFacets({ ...toQuery(365), context })],
    [
      "summary, 12 months",
      () => stats.readSummary({ ...toQuery(365), grouping: "team", format: "json", context }),
    ],
    ["errors, 30 days", () => stats.readErrors({ ...toQuery(30), bucket: "day", context })],
    ["log", () => stats.listRequests(toQuery(365, client), page)],
  ];
  for (let turn = 0; !signal.aborted; turn += 1) {
    const [name, ask] = kinds[turn % kinds.length]!;
    const beganMs = performance.now();
    await ask();
    times.set(name, [...(times.get(name) ?? []), performance.now() - beganMs]);
  }
}

const PRICES: PriceSet = {
  input_tokens: 2_500_000,
  output_tokens: 10_000_000,
  cached_input_tokens: 1_250_000,
};

/** Events of the combinations that the folder knows, the popular ones more often. */
function prepareUsages(
  dataDir: string,
): readonly { readonly subject: Omit<UsageBeginning, "arrivedAtUs">; readonly ending: UsageEnding }[] {
  const database = openForReading(join(dataDir, "usage.db"));
  const rows = database
    .query<CombinationRow, []>("SELECT * FROM combination WHERE shape IS NOT NULL ORDER BY id")
    .all();
  database.close();
  const sites = rows.map((row): Site => ({
    subject: {
      principalId: row.principal_id,
      principalName: row.principal_name,
      keyId: row.key_id,
      relayTokenId: row.relay_token_id,
      providerId: row.provider_id,
      model: row.model,
      upstreamName: row.upstream_name,
      endpoint: row.endpoint,
      client: row.client,
      ...parseStoredTags(row.tags),
    },
    model: {
      alias: row.model ?? "",
      upstreamName: row.upstream_name ?? "",
      provider: 0,
      endpoint: row.endpoint,
      prices: PRICES,
      medianMs: 2_000,
    },
    isRelay: row.shape === "exclusive",
    streams: true,
  }));
  const chance = createChance(11);
  const toSite = createZipf(sites.length, 0.9);
  return Array.from({ length: PREPARED }, () => {
    const site = sites[toSite(chance)]!;
    const streamed = chance() < 0.6;
    return { subject: { ...site.subject, streamed }, ending: toEnding(chance, site, streamed) };
  });
}

interface CombinationRow {
  readonly principal_id: string;
  readonly principal_name: string;
  readonly key_id: string | null;
  readonly relay_token_id: string | null;
  readonly provider_id: string;
  readonly model: string | null;
  readonly upstream_name: string | null;
  readonly endpoint: string;
  readonly client: string | null;
  readonly tags: string;
  readonly shape: string;
}

/** Samples the distance between the committed position and the end of the journal. */
class BacklogWatch {
  readonly #directory: string;
  readonly #database: ReturnType<typeof openForReading>;
  readonly #firstBytes: number;
  #at = { segment: -1, offset: -1, sinceMs: performance.now() };
  #gone = 0;
  readonly #sizes = new Map<number, number>();
  readonly backlogBytes: number[] = [];
  /** The time that each committed position stood while more was waiting. */
  readonly pausesMs: number[] = [];

  constructor(dataDir: string) {
    this.#directory = join(dataDir, "journal");
    this.#database = openForReading(join(dataDir, "usage.db"));
    this.#firstBytes = this.#measure();
  }

  /** Appended since the watch began. */
  get journalBytes(): number {
    return this.#measure() - this.#firstBytes;
  }

  sample(): void {
    const state = this.#database
      .query<{ segment: number; offset: number }, []>(
        "SELECT journal_segment AS segment, journal_offset AS offset FROM ledger_state",
      )
      .get();
    if (state === null) throw new Error("no ledger state");
    const nowMs = performance.now();
    this.#measure();
    let backlog = -state.offset;
    for (const [segment, size] of this.#sizes) if (segment >= state.segment) backlog += size;
    this.backlogBytes.push(Math.max(0, backlog));
    const moved = state.segment !== this.#at.segment || state.offset !== this.#at.offset;
    if (moved) this.pausesMs.push(nowMs - this.#at.sinceMs);
    if (moved || backlog <= 0) this.#at = { ...state, sinceMs: nowMs };
  }

  close(): void {
    this.#database.close();
  }

  /** Bytes of all segments, removed ones included. */
  #measure(): number {
    const present = new Set(listSegments(this.#directory));
    for (const segment of present) {
      const path = segmentPath(this.#directory, segment);
      if (existsSync(path)) this.#sizes.set(segment, statSync(path).size);
    }
    for (const [segment, size] of this.#sizes) {
      if (present.has(segment)) continue;
      this.#gone += size;
      this.#sizes.delete(segment);
    }
    let sum = this.#gone;
    for (const size of this.#sizes.values()) sum += size;
    return sum;
  }
}
