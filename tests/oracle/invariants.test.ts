import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { DAY_US, ENDING, NEW_YEAR_US, SUBJECT, toBeginLine, toEndLine } from "../ledger/usage.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger, type Attempts } from "../support/invariants.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

const EVENTS = 6;
const IDS = Array.from({ length: EVENTS }, (_, index) => `r${index}`);
const WELL: Attempts = {
  arrivals: new Map(IDS.map((id) => [id, 1])),
  ended: IDS,
  sent: IDS,
  eventCount: EVENTS,
  isAtRest: true,
};

/** Six events over three days, of which two are sealed; then whatever `damage` does to the file. */
function makeLedger(damage: string): { readonly path: string; remove(): void } {
  const folder = makeFolder();
  const databasePath = join(folder.path, "usage.db");
  mkdirSync(join(folder.path, "journal"));
  prepareUsageDatabase(databasePath);
  const lines = IDS.flatMap((id, index) => {
    const arrivedAtUs = NEW_YEAR_US + index * (DAY_US / 2);
    const failed = {
      ...ENDING,
      outcome: "unreachable",
      statusCode: 502,
      usage: null,
      costPico: null,
    } as const;
    const ending = index === 3 ? { ...failed, unpriced: false } : ENDING;
    const subject = { ...SUBJECT, arrivedAtUs, tags: [`id:${id}`] };
    return [toBeginLine(index, subject), toEndLine(index, ending)];
  });
  appendFileSync(segmentPath(join(folder.path, "journal"), 1), Buffer.concat(lines));
  const database = openForWriting(databasePath);
  const writer = openSqliteWriter({
    database,
    journalDirectory: join(folder.path, "journal"),
    onDamage: () => {},
  });
  while (writer.writeBatch());
  while (writer.seal(NEW_YEAR_US / DAY_US + 2));
  writer.close();
  const damaged = new Database(databasePath);
  damaged.run("PRAGMA foreign_keys = OFF");
  damaged.run(damage);
  damaged.close();
  return folder;
}

function isFoundWanting(damage: string, attempts: Attempts): boolean {
  const folder = makeLedger(damage);
  try {
    checkLedger(folder.path, attempts);
    return false;
  } catch {
    return true;
  } finally {
    folder.remove();
  }
}

const DAMAGE: readonly (readonly [what: string, sql: string])[] = [
  ["an event that is lost", "DELETE FROM event WHERE id = (SELECT max(id) FROM event)"],
  [
    "an event that is there twice",
    "INSERT INTO event (id, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, input_tokens, output_tokens, cached_input_tokens, other_units) SELECT id + 1, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, input_tokens, output_tokens, cached_input_tokens, other_units FROM event LIMIT 1",
  ],
  [
    "a cost that is a pico off",
    "UPDATE event SET cost_lo = cost_lo + 1 WHERE id = (SELECT min(id) FROM event)",
  ],
  ["a cost of zero for what has no price", "UPDATE event SET cost_hi = 0, cost_lo = 0 WHERE cost_hi IS NULL"],
  [
    "an hour that is a pico off",
    "UPDATE hour_total SET cost_lo = cost_lo + 1 WHERE hour = (SELECT min(hour) FROM hour_total)",
  ],
  [
    "an hour with a request too many",
    "UPDATE hour_total SET requests = requests + 1 WHERE outcome = 'unreachable'",
  ],
  [
    "an hour with another outcome",
    "UPDATE hour_total SET outcome = 'cancelled' WHERE outcome = 'unreachable'",
  ],
  ["an hour that counts zero where nothing was reported", "UPDATE hour_total SET audio_us = 0"],
  ["an open hour that is a pico off", "UPDATE open_cell SET cost_lo = cost_lo + 1"],
  ["an open hour without its unpriced requests", "UPDATE open_cell SET unpriced_requests = 0"],
  ["an hour with a pending request too many", "UPDATE hour_total SET pending_requests = 1"],
  ["an open hour with an unmetered request too many", "UPDATE open_cell SET unmetered_requests = 1"],
  ["an open hour that was seen later", "UPDATE open_cell SET last_seen_us = last_seen_us + 1"],
  [
    "an open hour in another band",
    "UPDATE open_cell SET band_under_1s = band_under_5s, band_under_5s = band_under_1s",
  ],
  ["cells of an hour that are lost", "DELETE FROM cells WHERE period = 0"],
  ["cells of a day that are lost", "DELETE FROM cells WHERE period = 1"],
  ["cells of a month that are lost", "DELETE FROM cells WHERE period = 2"],
  [
    "an hour with the cells of another",
    "UPDATE cells SET columns = (SELECT columns FROM cells WHERE period = 0 ORDER BY at LIMIT 1) WHERE period = 0",
  ],
  [
    "a day that is sealed and open",
    "INSERT INTO open_cell SELECT hour - 24, combination, result, requests, priced_requests, unpriced_requests, pending_requests, unmetered_requests, cost_hi, cost_lo, input_tokens, output_tokens, cached_input_tokens, audio_us, images, search_units, web_searches, priced_by_request, cost_reported_requests, cost_reported_hi, cost_reported_lo, duration_us, last_seen_us, band_under_1s, band_under_5s, band_under_15s, band_under_30s, band_under_60s, band_under_120s, band_over_120s FROM open_cell",
  ],
  ["a begin that is still open", "INSERT INTO open_request VALUES (99, x'00')"],
];

test("the checker is content with a ledger as the product writes it", () => {
  expect(isFoundWanting("SELECT 1", WELL)).toBe(false);
});

test.each(DAMAGE)("the checker finds %s", (_, sql) => {
  expect(isFoundWanting(sql, { isAtRest: true, ...(/lost|twice/.test(_) ? WELL : {}) })).toBe(true);
});

test.each([
  ["a request that reached its upstream and has no event", { arrivals: new Map([["r9", 1]]) }],
  ["a request that was sent upstream twice", { arrivals: new Map([["r1", 2]]) }],
  ["an answer that ended and has no event", { ended: ["r9"] }],
  ["an event that nobody asked for", { sent: IDS.slice(1) }],
  ["an event too many", { eventCount: EVENTS - 1 }],
] as const)("the checker finds %s", (_, attempts) => {
  expect(isFoundWanting("SELECT 1", attempts)).toBe(true);
});
