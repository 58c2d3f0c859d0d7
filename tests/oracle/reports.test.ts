import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { UsageEvent } from "#usage/event.ts";

import type { Asked, Bench } from "./bench.ts";
import { startBench } from "./bench.ts";
import { arbitraryEvent, DAY_US, DAYS, SCENES_US } from "./events.ts";
import { arbitrarySealing, writeLedger } from "./ledger.ts";
import type { Question, World } from "./oracle.ts";
import { createOracle, hasBounds } from "./oracle.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 600_000;
const LEDGERS = 10;
const LEDGERS_CUT = 5;
const QUESTIONS_PER_LEDGER = 30;
const MANY_EVENTS = 800;
const MANY_QUESTIONS = 200;
const SOCKET_QUESTIONS = 40;

const { seed, scale } = readSettings("oracle");
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const HOUR_US = DAY_US / 24;

type Window = NonNullable<Asked["counted"]>;

const HUGE = {
  shape: "exclusive",
  quantities: { output_tokens: Number.MAX_SAFE_INTEGER, cache_write_tokens: Number.MAX_SAFE_INTEGER },
} as const;

const EVERYTHING: Question = {
  path: "",
  report: "series",
  grouping: "team",
  principalId: null,
  principals: [],
  keyIds: [],
  providers: [],
  models: [],
  tiers: [],
  clientPrefixes: [],
  tags: [],
  outcomes: [],
  errorKinds: [],
  statuses: [],
  isUnpriced: false,
  minCostPico: null,
  maxCostPico: null,
  minDurationUs: null,
  maxDurationUs: null,
  by: "model",
  sort: "cost",
  order: "newest",
  sinceUs: null,
  untilUs: null,
  bucket: "day",
  groupBy: null,
  limit: 100,
  offset: 0,
  counts: false,
  cache: false,
};

/** The same question to the interface and to the oracle, or where it answered for another window the one that it names. Tells how often it did. */
async function expectAgreement(
  world: World,
  questions: readonly Question[],
  socket = false,
): Promise<number> {
  const answer = createOracle(world);
  let snapped = 0;
  for (const question of questions) {
    const { answer: given, counted } = await bench.ask(question, socket);
    const asked = given.status === 400 ? toRefused(world, question) : question;
    const expected = answer(counted === null ? asked : toCounted(world, question, counted));
    // Compared first: a report of what differs takes its time.
    if (!Bun.deepEquals(given, expected)) {
      expect({ question, counted, ...given }).toEqual({ question, counted, ...expected });
    }
    if (counted === null) continue;
    // Only retention is a reason to count something else than was asked, and whole days are the most that it may change.
    if (world.rowsFromUs === undefined) throw new Error(`${question.path} was answered for another window`);
    expectClose({ world, question, counted, rowsFromUs: world.rowsFromUs });
    snapped += 1;
  }
  return snapped;
}

interface Snapped {
  readonly world: World;
  readonly question: Question;
  readonly counted: Window;
  readonly rowsFromUs: number;
}

function expectClose({ world, question, counted, rowsFromUs }: Snapped): void {
  const asked = {
    sinceUs: question.sinceUs ?? counted.sinceUs,
    untilUs: question.untilUs ?? counted.untilUs,
  };
  const earlierUs = asked.sinceUs - counted.sinceUs;
  const laterUs = counted.untilUs - asked.untilUs;
  const isClose = isReadByRow(world, question, counted)
    ? counted.sinceUs < Math.max(asked.sinceUs, rowsFromUs) + HOUR_US && laterUs < DAY_US
    : earlierUs >= 0 && earlierUs < DAY_US && laterUs >= 0 && laterUs < DAY_US;
  if (!isClose) expect({ question, counted }).toEqual({ question, counted: asked });
}

/** The present: the moment of the last event, or some time after it. */
const toNow = (events: readonly UsageEvent[], sceneUs: number, laterUs: number) =>
  Math.max(sceneUs, ...events.map(({ arrivedAtUs }) => arrivedAtUs)) + events.length + laterUs;

const later = fc.constantFrom(0, 0, 3_600_000_000, DAY_US, 40 * DAY_US);

describe("every report, for any filter, window and bucket", () => {
  test(
    "is what brute force over the raw events says, sealed or not, late or not, at every edge of the calendar",
    async () => {
      const scene = fc.constantFrom(...SCENES_US).chain((sceneUs) =>
        fc.record({
          sceneUs: fc.constant(sceneUs),
          events: fc.array(arbitraryEvent(bench.cast, sceneUs), { maxLength: 40 }),
          questions: fc.array(arbitraryQuestion(bench.cast, sceneUs), {
            minLength: QUESTIONS_PER_LEDGER,
            maxLength: QUESTIONS_PER_LEDGER,
          }),
          sealing: arbitrarySealing(sceneUs),
          laterUs: later,
        }),
      );
      await fc.assert(
        fc.asyncProperty(scene, async ({ sceneUs, events, questions, laterUs, ...writing }) => {
          const ledger = writeLedger(events, writing);
          try {
            const nowUs = toNow(events, sceneUs, laterUs);
            bench.pointAt(ledger.database, nowUs);
            await expectAgreement({ events, nowUs, ...bench.names }, questions);
          } finally {
            ledger.close();
          }
        }),
        { numRuns: LEDGERS * scale, seed },
      );
    },
    TEST_MS_MAX,
  );

  test(
    "is what brute force says over a crowd of events, many to a microsecond, also over a socket",
    async () => {
      const [sceneUs = 0] = fc.sample(fc.constantFrom(...SCENES_US), { numRuns: 1, seed });
      const event = arbitraryEvent(bench.cast, sceneUs);
      const events = fc.sample(event, { numRuns: MANY_EVENTS, seed });
      const asked = arbitraryQuestion(bench.cast, sceneUs);
      const questions = fc.sample(asked, { numRuns: MANY_QUESTIONS * scale, seed });
      const ledger = writeLedger(events, {
        sealing: [
          { beforeUs: sceneUs + 2 * DAY_US, afterShare: 0.5 },
          { beforeUs: sceneUs + 33 * DAY_US, afterShare: 0.9 },
        ],
        readBytesMax: 50_000,
      });
      const nowUs = toNow(events, sceneUs, DAY_US);
      bench.pointAt(ledger.database, nowUs);
      const world = { events, nowUs, ...bench.names };
      await expectAgreement(world, questions);
      await expectAgreement(world, questions.slice(0, SOCKET_QUESTIONS), true);
      ledger.close();
    },
    TEST_MS_MAX,
  );

  test(
    "stays what it was when retention has removed rows, or is exactly that of the window that it names instead",
    async () => {
      let snapped = 0;
      const scene = fc.constantFrom(...SCENES_US).chain((sceneUs) =>
        fc.record({
          sceneUs: fc.constant(sceneUs),
          events: fc.array(arbitraryEvent(bench.cast, sceneUs), { minLength: 5, maxLength: 40 }),
          questions: fc.array(arbitraryQuestion(bench.cast, sceneUs), {
            minLength: QUESTIONS_PER_LEDGER,
            maxLength: QUESTIONS_PER_LEDGER,
          }),
          sealing: arbitrarySealing(sceneUs),
          // Away from every arrival, and hence from what an instant that many share spreads to.
          pruneBeforeUs: fc.constantFrom(...DAYS).map((day) => sceneUs + day * DAY_US + 3 * HOUR_US),
        }),
      );
      await fc.assert(
        fc.asyncProperty(scene, async ({ sceneUs, events, questions, ...writing }) => {
          const ledger = writeLedger(events, writing);
          try {
            const nowUs = toNow(events, sceneUs, DAY_US);
            bench.pointAt(ledger.database, nowUs);
            const world = { events, nowUs, rowsFromUs: writing.pruneBeforeUs, ...bench.names };
            snapped += await expectAgreement(world, questions);
          } finally {
            ledger.close();
          }
        }),
        { numRuns: LEDGERS_CUT * scale, seed },
      );
      // Were no window ever widened, nothing would have been tried.
      expect(snapped).toBeGreaterThan(LEDGERS_CUT);
    },
    TEST_MS_MAX,
  );

  test("keeps a count of 2^53 - 1 to the last token, and lists the most used of more than 500 values", async () => {
    const [sceneUs = 0] = SCENES_US;
    const many = fc.sample(arbitraryEvent(bench.cast, sceneUs), { numRuns: 900, seed });
    // Small quantities beside it, so that their sum is a number at all.
    const events = many.map((event, index) =>
      Object.assign({}, event, {
        model: `model-${index % 600}`,
        client: `client-${(index * index) % 701}`,
        tags: [`n:${index % 550}`],
        usage: index === 0 ? HUGE : null,
        costPico: null,
        unpriced: index === 0,
      }),
    );
    const ledger = writeLedger(events, { sealing: [{ beforeUs: sceneUs + 3 * DAY_US, afterShare: 1 }] });
    const nowUs = toNow(events, sceneUs, 0);
    bench.pointAt(ledger.database, nowUs);
    const everything = { ...EVERYTHING, limit: 500 };
    await expectAgreement({ events, nowUs, ...bench.names }, [
      { ...everything, report: "facets", path: "/stats/requests/facets" },
      { ...everything, report: "facets", path: "/stats/requests/facets?counts=1", counts: true },
      { ...everything, report: "series", path: "/stats/series" },
      { ...everything, report: "series", path: "/stats/series?client=c", clientPrefixes: ["c"] },
      {
        ...everything,
        report: "series",
        path: "/stats/series?group_by=model&top=100",
        groupBy: { by: "model", order: "cost", top: 100 },
      },
      {
        ...everything,
        report: "series",
        path: "/stats/series?group_by=client&order=tokens",
        groupBy: { by: "client", order: "tokens", top: 10 },
      },
      { ...everything, report: "summary", path: "/stats/summary" },
      { ...everything, report: "errors", path: "/stats/errors" },
      { ...everything, report: "requests", path: "/stats/requests?limit=500" },
    ]);
    ledger.close();
  });
});

/** The question that was answered. An end that was not asked for stays open, but where the hours of a filter begin later. */
function toCounted(world: World, question: Question, counted: Window): Question {
  if (isReadByRow(world, question, counted)) return { ...question, ...counted };
  return {
    ...question,
    sinceUs: question.sinceUs === null ? null : counted.sinceUs,
    untilUs: question.untilUs === null ? null : counted.untilUs,
  };
}

/**
 * A refusal names no window. A report of single requests without `since` begins with the first hour of which all rows are
 * left, whether anything in it matches or not: too many buckets are counted from there.
 */
function toRefused({ events, rowsFromUs }: World, question: Question): Question {
  if (rowsFromUs === undefined || question.sinceUs !== null || !hasBounds(question)) return question;
  const hasLostRows = events.some(({ arrivedAtUs }) => arrivedAtUs < rowsFromUs);
  return hasLostRows ? { ...question, sinceUs: Math.ceil(rowsFromUs / HOUR_US) * HOUR_US } : question;
}

/**
 * No total has the hours of a filter but that by outcome, nor those of groups, nor single requests; a breakdown by hour leaves
 * out hours that lost rows. Where nothing of it was removed, the header tells of whole days.
 */
function isReadByRow({ events }: World, question: Question, counted: Window): boolean {
  const { report, bucket, by, sinceUs } = question;
  // No total tells in which unit something was unpriced.
  if (report === "missing") return true;
  if (hasBounds(question)) return true;
  const isHourly = report === "breakdown" && by === "hour";
  if (!isHourly) {
    if (bucket !== "hour" || (report !== "series" && report !== "errors")) return false;
    const { principals, keyIds, providers, models, clientPrefixes, tags, tiers, errorKinds, statuses } =
      question;
    const values = [principals, keyIds, providers, models, clientPrefixes, tags, tiers, errorKinds, statuses];
    const isGrouped = question.groupBy !== null;
    if (!isGrouped && question.principalId === null && values.flat().length === 0) return false;
  }
  return sinceUs !== null || counted.sinceUs > Math.min(...events.map(({ arrivedAtUs }) => arrivedAtUs));
}
