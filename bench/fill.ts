/**
 * A data folder with a year of usage: realistic in what repeats, deterministic by its seed, written as journal lines and
 * through the product's own writer, in the order in which requests end, each day sealed when the product would seal it.
 */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { PriceSet } from "#kernel/units.ts";
import { toDay, toSealBeforeDay } from "#storage/cells/calendar.ts";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import type { UsageEnding } from "#usage/event.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { createChance, createZipf } from "./chance.ts";
import { makePopulation, type Asker, type Site } from "./population.ts";
import { toEnding, toHourCounts } from "./traffic.ts";
import { openSqliteWriter, type SqliteTestWriter } from "../tests/support/sqlite-writer.ts";

const SPREAD_DAYS = 365;
const SEGMENT_BYTES = 64 * 1024 * 1024;
/** The most popular site is called `n ** SKEW` times as often as the one in rank `n`. */
const SKEW = 0.9;

/** The facts of a filled folder, kept in its `filled.json`. */
export interface Filled {
  readonly dataDir: string;
  readonly events: number;
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
  readonly admin: Asker;
  readonly biggest: Asker;
  readonly smallest: Asker;
  readonly sizeBytes: number;
  readonly sealing: { readonly days: number; readonly meanMs: number; readonly maxMs: number };
}

/** Reuses what a run before has left in the folder, when it was finished. */
export async function fill(
  dataDir: string,
  options: { readonly events: number; readonly seed: number; readonly untilUs: InstantUs },
): Promise<Filled> {
  const noted = join(dataDir, "filled.json");
  if (existsSync(noted)) return { ...(JSON.parse(readFileSync(noted, "utf8")) as Filled), dataDir };
  if (existsSync(dataDir)) throw new Error(`${dataDir} was not filled to its end: remove it`);
  const { events, seed, untilUs } = options;
  const startedMs = performance.now();
  const fromUs = untilUs - SPREAD_DAYS * DAY_US;
  const population = await makePopulation(dataDir, { seed, bornAtUs: fromUs - DAY_US });
  const database = join(dataDir, "usage.db");
  prepareUsageDatabase(database);
  const journal = new SteadyJournal(join(dataDir, "journal"));
  const writer = openWriter(dataDir);
  const chance = createChance(seed + 2);
  const toSite = createZipf(population.sites.length, SKEW);
  const sealMs: number[] = [];
  let written = 0;
  let tenths = 0;

  const settle = (nowUs: InstantUs) => {
    journal.flush();
    while (writer.writeBatch());
    for (;;) {
      const stepMs = performance.now();
      if (!writer.seal(toSealBeforeDay(nowUs))) break;
      sealMs.push(performance.now() - stepMs);
    }
    if (written * 10 < events * (tenths + 1)) return;
    tenths = Math.floor((written * 10) / events);
    const seconds = (performance.now() - startedMs) / 1000;
    console.error(`filling: ${written} of ${events} events, ${(written / seconds).toFixed(0)} a second`);
  };

  let today = toDay(fromUs);
  for (const hour of toHourCounts({ fromUs, untilUs }, events)) {
    if (toDay(hour.fromUs) !== today) {
      today = toDay(hour.fromUs);
      settle(hour.fromUs);
      // A signal is heard in between only.
      await Bun.sleep(0);
    }
    const lengthUs = hour.untilUs - hour.fromUs;
    const arrivals = Float64Array.from({ length: hour.count }, () => Math.floor(chance() * lengthUs)).sort();
    for (const offsetUs of arrivals) {
      const site = population.sites[toSite(chance)]!;
      const streamed = site.streams && chance() < 0.7;
      journal.request({
        site,
        arrivedAtUs: hour.fromUs + offsetUs,
        streamed,
        ending: toEnding(chance, site, streamed),
      });
    }
    written += hour.count;
  }
  journal.endAll();
  settle(untilUs);
  // Closing the last connection folds the write-ahead log into the file.
  writer.close();

  const filled: Filled = {
    dataDir,
    events,
    fromUs,
    untilUs,
    admin: population.admin,
    biggest: population.biggest,
    smallest: population.smallest,
    sizeBytes: statSync(database).size,
    sealing: {
      days: sealMs.length,
      meanMs: sealMs.reduce((sum, ms) => sum + ms, 0) / Math.max(1, sealMs.length),
      maxMs: Math.max(0, ...sealMs),
    },
  };
  writeFileSync(noted, JSON.stringify(filled));
  return filled;
}

/** Another folder with the same, which may be changed. */
export function copyFilled(filled: Filled, scratch: string): Filled {
  const dataDir = join(scratch, `copy-${filled.events}`);
  cpSync(filled.dataDir, dataDir, { recursive: true });
  return { ...filled, dataDir };
}

/** The product's writer on a folder that nothing else writes to. A line that it cannot read ends the run. */
function openWriter(dataDir: string): SqliteTestWriter {
  return openSqliteWriter({
    database: openForWriting(join(dataDir, "usage.db")),
    journalDirectory: join(dataDir, "journal"),
    onDamage(damage) {
      throw new Error(`the writer skipped lines: ${JSON.stringify(damage)}`);
    },
  });
}

interface OpenRequest {
  readonly endsAtUs: InstantUs;
  readonly sequence: number;
  readonly ending: UsageEnding;
}

/** Begins in the order of arrival, ends in the order of ending, as the data plane writes them; flushed now and then. */
class SteadyJournal {
  readonly #directory: string;
  #segment = 1;
  #segmentBytes = 0;
  #lines: string[] = [];
  #sequence = 0;
  #number = 0;
  #siteNumbers = new Map<Site, number>();
  #priceNumbers = new Map<PriceSet, number>();
  /** The next to end last. */
  #open: OpenRequest[] = [];

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#lines.push(encodeJournalLine({ kind: "run" }));
  }

  request(given: {
    readonly site: Site;
    readonly arrivedAtUs: InstantUs;
    readonly streamed: boolean;
    readonly ending: UsageEnding;
  }): void {
    const { site, arrivedAtUs, streamed, ending } = given;
    this.#endUntil(arrivedAtUs);
    this.#sequence += 1;
    const sequence = this.#sequence;
    const dimensions = this.#toNumber(this.#siteNumbers, site, (number) =>
      encodeJournalLine({ kind: "dimensions", number, dimensions: site.subject }),
    );
    this.#lines.push(encodeJournalLine({ kind: "begin", sequence, arrivedAtUs, streamed, dimensions }));
    const open = { endsAtUs: arrivedAtUs + ending.durationUs, sequence, ending };
    // Few are under way at once.
    let at = this.#open.length;
    while (at > 0 && this.#open[at - 1]!.endsAtUs < open.endsAtUs) at -= 1;
    this.#open.splice(at, 0, open);
  }

  endAll(): void {
    this.#endUntil(Number.POSITIVE_INFINITY);
  }

  flush(): void {
    const bytes = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    appendFileSync(segmentPath(this.#directory, this.#segment), bytes);
    this.#segmentBytes += bytes.length;
    if (this.#segmentBytes < SEGMENT_BYTES) return;
    this.#segment += 1;
    this.#segmentBytes = 0;
    // Each segment can be read without those before it.
    this.#siteNumbers = new Map();
    this.#priceNumbers = new Map();
  }

  #endUntil(nowUs: InstantUs): void {
    for (
      let next = this.#open.at(-1);
      next !== undefined && next.endsAtUs <= nowUs;
      next = this.#open.at(-1)
    ) {
      this.#open.pop();
      const { sequence, ending } = next;
      const prices = this.#toNumber(this.#priceNumbers, ending.prices, (number) =>
        encodeJournalLine({ kind: "prices", number, prices: ending.prices }),
      );
      this.#lines.push(encodeJournalLine({ kind: "end", sequence, ending, prices }));
    }
  }

  #toNumber<Key>(numbers: Map<Key, number>, key: Key, define: (number: number) => string): number {
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const number = (this.#number += 1);
    numbers.set(key, number);
    this.#lines.push(define(number));
    return number;
  }
}
