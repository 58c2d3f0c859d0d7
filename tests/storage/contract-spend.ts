import { describe, expect, test } from "bun:test";
import { HOUR_US } from "#kernel/clock.ts";
import { toNotice } from "#notices/notice.ts";
import { SpendNotices } from "#notices/spend-notices.ts";
import type { Storage } from "#storage/engine.ts";
import { createManualClock, DAY_US, ENDING, NEW_YEAR_US, SUBJECT } from "../ledger/usage.ts";
import type { LedgerEngine } from "./support.ts";

/** A server of PostgreSQL is started for each. */
const TEST_MS_MAX = 60_000;
const WHOLE = 1_000_000_000_000n;
/** Thursday, 2026-02-26T09:00:00Z. */
const HOUR = (NEW_YEAR_US + 56 * DAY_US) / HOUR_US + 9;
const WEEK_HOURS = 7 * 24;
const EARLIER = [1, 2, 3, 4].map((weeks) => HOUR - weeks * WEEK_HOURS);

interface Used {
  readonly hour: number;
  readonly whole: number;
  readonly principal?: string;
  readonly keyId?: string | null;
  readonly tags?: readonly string[];
}

/** What single subjects cost in an hour, from the totals of every engine. */
export function testSpendContract(engineName: string, createEngine: () => LedgerEngine): void {
  describe(`the cost of an hour in ${engineName}`, () => {
    let arrivals = 0;
    async function record(storage: Storage, ...used: readonly Used[]): Promise<void> {
      for (const { hour, whole, principal = "ada", keyId = "key-1", tags = [] } of used) {
        arrivals += 1;
        const subject = {
          ...SUBJECT,
          principalId: `id-${principal}`,
          principalName: principal,
          keyId,
          tags,
          arrivedAtUs: hour * HOUR_US + arrivals,
        };
        const ending = { ...ENDING, costPico: WHOLE * BigInt(whole), unpriced: false };
        await storage.ledger.open(subject).end(ending);
      }
      await storage.ledger.flush();
    }

    test(
      "is by principal, key and tag beside the same hour of earlier weeks, before and after days are sealed",
      async () => {
        await using engine = createEngine();
        const clock = createManualClock((HOUR + 1) * HOUR_US);
        const storage = await engine.serve({ clock });
        await record(
          storage,
          { hour: EARLIER[2]! - 1, whole: 100 },
          { hour: EARLIER[1]!, whole: 3, tags: ["app:x"] },
          { hour: EARLIER[1]!, whole: 4, principal: "bob", keyId: null, tags: ["app:x", "team:y"] },
          { hour: EARLIER[0]! + 1, whole: 100 },
          { hour: HOUR, whole: 2, tags: ["app:x"] },
          { hour: HOUR, whole: 5, keyId: "key-2" },
          { hour: HOUR, whole: 1, principal: "bob", keyId: null },
          { hour: HOUR, whole: 0, principal: "eve", keyId: "key-3" },
          { hour: HOUR + 1, whole: 100 },
        );
        const question = { hour: HOUR, earlier: EARLIER, leastPico: 2n * WHOLE, rowsMax: 9 };
        const read = async (more = {}) =>
          (await storage.spendLedger.readHourSpend({ ...question, ...more })).map(
            ({ kind, value, principalName, costPico, earlierPico }) =>
              `${kind} ${value} ${principalName}: ${costPico / WHOLE} after ${earlierPico.map((pico) => pico / WHOLE).join(", ")}`,
          );
        // The ledger begins an hour before the third week's, so that the fourth is not compared with.
        const expected = [
          "principal id-ada ada: 7 after 0, 3, 0",
          "key key-2 ada: 5 after 0, 0, 0",
          "key key-1 ada: 2 after 0, 3, 0",
          "tag app:x : 2 after 0, 7, 0",
        ];
        expect((await read()).toSorted()).toEqual(expected.toSorted());
        expect(await read({ rowsMax: 1 })).toEqual(expected.slice(0, 1));
        expect(await read({ leastPico: 8n * WHOLE })).toEqual([]);
        expect(await read({ hour: HOUR + 3 })).toEqual([]);
        clock.now += 3 * DAY_US;
        await storage.maintain();
        expect((await read()).toSorted()).toEqual(expected.toSorted());
        await storage.close();
      },
      TEST_MS_MAX,
    );

    test(
      "that is unusual is told of once, however many look and whenever they start",
      async () => {
        await using engine = createEngine();
        const clock = { now: (HOUR + 0.5) * HOUR_US, elapsedMs: 0 };
        const look = async (storage: Storage, looks: number) => {
          const puts: Promise<unknown>[] = [];
          const notices = new SpendNotices({
            ledger: storage.spendLedger,
            findLabels: (ids) => storage.identity.keys.findNames(ids),
            factor: 5,
            clock: { nowUs: () => clock.now, monotonicMs: () => clock.elapsedMs },
            tell(draft, once) {
              const notice = toNotice(draft, `id-${clock.elapsedMs}-${puts.length}`, clock.now);
              puts.push(storage.notices.put([{ ...once, notice }], clock.now));
            },
          });
          for (let done = 0; done < looks; done += 1) {
            clock.elapsedMs += 60_000;
            await notices.look();
          }
          await Promise.all(puts);
        };
        const listTold = async (storage: Storage) =>
          (await storage.notices.list()).map(({ notice }) => notice.text.replace(/ has cost.*/, ""));
        const first = await engine.serve();
        await record(
          first,
          { hour: EARLIER[3]!, whole: 1, keyId: null },
          { hour: EARLIER[2]!, whole: 2, keyId: null },
          { hour: EARLIER[1]!, whole: 2, keyId: null },
          { hour: EARLIER[0]!, whole: 9, keyId: null },
          { hour: HOUR, whole: 10, keyId: null },
        );
        await look(first, 2);
        expect(await listTold(first)).toEqual([]);
        await record(first, { hour: HOUR, whole: 1, keyId: null });
        await look(first, 2);
        await look(first, 1);
        expect(await listTold(first)).toEqual(['"ada"']);
        await first.close();
        const second = await engine.serve();
        await look(second, 2);
        expect(await listTold(second)).toEqual(['"ada"']);
        clock.now += HOUR_US;
        await record(second, { hour: HOUR + 1, whole: 1, keyId: null });
        await look(second, 1);
        expect(await listTold(second)).toEqual(['"ada"', '"ada"']);
        await second.close();
      },
      TEST_MS_MAX,
    );
  });
}
