import { describe, expect, test } from "bun:test";
import { openLogTail } from "#cli/commands/log-tail.ts";
import type { ReportQuery } from "#cli/input/report.ts";
import { formatInstant, parseInstant } from "#kernel/clock.ts";

const START_US = Date.UTC(2026, 0, 1) * 1000;
const SECOND_US = 1_000_000;

interface Row {
  readonly arrivedAtUs: number;
  readonly durationMs: number;
}

/** A request log in memory, paged as `GET /stats/requests` is. */
function createLog() {
  const rows: Row[] = [];
  let readCount = 0;
  return {
    get readCount() {
      return readCount;
    },
    add(...added: readonly Row[]) {
      rows.push(...added);
      rows.sort((left, right) => right.arrivedAtUs - left.arrivedAtUs);
    },
    read: async (query: ReportQuery) => {
      readCount += 1;
      const since = parseInstant(String(query["since"] ?? "")) ?? Number.NEGATIVE_INFINITY;
      const until = parseInstant(String(query["until"] ?? "")) ?? Number.POSITIVE_INFINITY;
      const held = rows.filter(({ arrivedAtUs }) => arrivedAtUs >= since && arrivedAtUs < until);
      const requests = held.slice(0, Number(query["limit"])).map(({ arrivedAtUs, durationMs }) => ({
        id: String(arrivedAtUs),
        ts: formatInstant(arrivedAtUs),
        duration_ms: durationMs,
      }));
      return { body: { requests, total: held.length }, notices: [] };
    },
  };
}

const many = (count: number, fromUs: number): readonly Row[] =>
  Array.from({ length: count }, (_, index) => ({ arrivedAtUs: fromUs + index * 1000, durationMs: 1.5 }));
const toIds = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

describe("the end of the request log", () => {
  test("takes for new nothing that was there when it was opened, also beyond the pages that were read then", async () => {
    const log = createLog();
    log.add(...many(20_000, START_US));
    const end = await openLogTail(log.read, {});
    expect(end.newest).toHaveLength(500);
    expect(await end.readNew()).toEqual({ rows: [], leftOutCount: 0 });
    // Arrived before all that was read, ended after it.
    const late = { arrivedAtUs: START_US + 500, durationMs: 30_000 };
    log.add(late);
    expect(toIds((await end.readNew()).rows)).toEqual([String(late.arrivedAtUs)]);
    const before = log.readCount;
    expect((await end.readNew()).rows).toEqual([]);
    expect(log.readCount - before).toBe(1);
  });

  test("gives every row once, in the order of their endings, however many pages came at once", async () => {
    const log = createLog();
    const end = await openLogTail(log.read, {});
    const added = many(3_210, START_US);
    log.add(...added);
    const { rows, leftOutCount } = await end.readNew();
    expect(toIds(rows)).toEqual(added.map(({ arrivedAtUs }) => String(arrivedAtUs)));
    expect(leftOutCount).toBe(0);
    expect((await end.readNew()).rows).toEqual([]);
  });

  test("goes on over hours, and takes a row that another overtook into the database for new", async () => {
    const log = createLog();
    const end = await openLogTail(log.read, {});
    for (let minute = 0; minute < 120; minute += 1) {
      const atUs = START_US + minute * 60 * SECOND_US;
      log.add({ arrivedAtUs: atUs, durationMs: 10 });
      expect(toIds((await end.readNew()).rows)).toEqual([String(atUs)]);
      log.add({ arrivedAtUs: atUs - 1, durationMs: 1 });
      expect(toIds((await end.readNew()).rows)).toEqual([String(atUs - 1)]);
    }
  });

  test("shows a request that took hours when it ends, whatever arrived since, and each of the others once", async () => {
    const log = createLog();
    const hourUs = 3600 * SECOND_US;
    log.add(...many(700, START_US + hourUs), ...many(1_200, START_US + 20 * hourUs));
    const end = await openLogTail(log.read, {});
    for (const [arrivedAtUs, hours] of [
      [START_US + 2 * hourUs, 20],
      [START_US + 19 * hourUs, 4],
      [START_US + 90 * SECOND_US, 23.5],
    ] as const) {
      const durationMs = hours * 3_600_000;
      const meanwhile = many(600, arrivedAtUs + durationMs * 1000);
      log.add({ arrivedAtUs, durationMs }, ...meanwhile);
      const shown = toIds((await end.readNew()).rows);
      expect(shown).toHaveLength(601);
      expect(shown).toContain(String(arrivedAtUs));
      const before = log.readCount;
      expect(await end.readNew()).toEqual({ rows: [], leftOutCount: 0 });
      expect(log.readCount - before).toBe(1);
    }
  });

  test("counts what is more than one look takes, and is at the end after it", async () => {
    const log = createLog();
    const end = await openLogTail(log.read, {});
    log.add(...many(20_700, START_US));
    const { rows, leftOutCount } = await end.readNew();
    expect(rows.length + leftOutCount).toBe(20_700);
    expect(leftOutCount).toBe(700);
    log.add({ arrivedAtUs: START_US + 60 * SECOND_US, durationMs: 1 });
    expect((await end.readNew()).rows).toHaveLength(1);
  });

  test("a look that fails loses nothing: the next one finds it", async () => {
    const log = createLog();
    let isBroken = false;
    const read = async (query: ReportQuery) => {
      if (isBroken && query["until"] !== undefined) throw new Error("gone");
      return log.read(query);
    };
    const end = await openLogTail(read, {});
    log.add(...many(1_200, START_US));
    isBroken = true;
    expect(await end.readNew().catch(String)).toBe("Error: gone");
    isBroken = false;
    expect((await end.readNew()).rows).toHaveLength(1_200);
  });
});
