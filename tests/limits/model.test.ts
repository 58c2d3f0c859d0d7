import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  type Limit,
  type LimitEach,
  type LimitSubject,
  LIMIT_MEASURES,
  LIMIT_WINDOWS,
} from "#limits/limit.ts";
import { PENDING_USAGE, type UsageBeginning, type UsageEnding, DURATION_US_MAX } from "#usage/event.ts";
import { ENDING, SUBJECT } from "../ledger/usage.ts";
import { readNumber, scale } from "../support/scale.ts";
import { LIMIT } from "./limit.ts";
import { Machine } from "./machine.ts";
import { isRefused, type OracleRequest } from "./oracle.ts";

const SEQUENCES = readNumber("LOCKPORT_LIMIT_SEQUENCES") ?? 40 * scale;
const TEST_MS_MAX = 3_600_000;
const START_US = Date.UTC(2026, 10, 28, 22, 0) * 1000;
const SECOND_US = 1e6;
const DAY_US = 86_400e6;

const SUBJECTS: readonly LimitSubject[] = [
  { kind: "everybody" },
  { kind: "principal", id: "p0", name: "p0" },
  { kind: "key", id: "k1" },
  { kind: "tag", pair: "team:a" },
];
const EACH: readonly (LimitEach | null)[] = [
  null,
  null,
  { kind: "principal" },
  { kind: "key" },
  { kind: "tag", key: "team" },
];
const MODELS = ["m0", "m1", null] as const;
const TAGS: readonly (readonly string[])[] = [[], ["team:a"], ["app:x", "team:b"], ["teams:a"]];

/** How a request may end whose usage was not told; the first half of them count as such. */
const UNTOLD = {
  silent: { outcome: "ok", statusCode: 200 },
  left: { outcome: "cancelled", statusCode: 200 },
  "left early": { outcome: "cancelled", statusCode: 499 },
  "left an error": { outcome: "cancelled", statusCode: 500 },
  failed: { outcome: "upstream_error", statusCode: 500 },
  unreachable: { outcome: "unreachable", statusCode: 502 },
} as const;
const COUNTED: ReadonlySet<string> = new Set(["silent", "left", "left early"]);
/** By-id and counting endpoints, and moderations, are held against fewer limits. */
const ENDPOINTS = ["chat", "responses", "responses/retrieve", "messages/count_tokens", "moderation"] as const;
const HOW = [
  "pending",
  "pending",
  "told",
  "told",
  "told",
  "silent",
  "left",
  "left early",
  "left an error",
  "failed",
  "unreachable",
] as const;

const small = fc.nat({ max: 5 });
const command = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      who: small,
      tags: small,
      fixed: small,
      model: small,
      endpoint: fc.constantFrom(...ENDPOINTS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: small,
      cost: small,
      isTold: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("end" as const),
      which: small,
      cost: small,
      tokens: small,
      priced: fc.boolean(),
      how: fc.constantFrom(...HOW),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      us: fc.oneof(
        fc.nat({ max: 3 * SECOND_US }),
        fc.nat({ max: 3_700 * SECOND_US }),
        fc.nat({ max: 33 * DAY_US }),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("set back" as const), us: fc.nat({ max: 2 * DAY_US }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("limit" as const),
      subject: small,
      each: small,
      fixed: fc.boolean(),
      model: small,
      measure: small,
      window: small,
      amount: fc.integer({ min: 1, max: 4 }),
      unknown: fc.option(fc.integer({ min: 1, max: 2 }), { freq: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("change" as const),
      which: small,
      amount: fc.integer({ min: 1, max: 5 }),
      unknown: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 2 }),
      window: small,
      on: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop" as const), which: small }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("seal" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("renew" as const) }) },
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

/** Plays commands on the gate and writes down what happened beside it. */
class Play {
  readonly machine = new Machine(START_US);
  readonly requests: OracleRequest[] = [];
  readonly underWay: { readonly begun: UsageBeginning; readonly noted: OracleRequest }[] = [];
  /** Requests that have ended and whose usage is still to come. */
  readonly pending: {
    readonly begun: UsageBeginning;
    readonly ending: UsageEnding;
    readonly noted: OracleRequest;
  }[] = [];
  readonly renewals: Promise<void>[] = [];
  #limitCount = 0;

  async step(next: Command): Promise<void> {
    const { machine } = this;
    machine.nowUs += 1;
    switch (next.kind) {
      case "ask":
        return await this.#ask(next);
      case "end":
        this.#end(next);
        return;
      case "settle":
        this.#settle(next);
        return;
      case "pass":
        machine.nowUs += next.us;
        return;
      case "set back":
        machine.nowUs -= next.us;
        return;
      case "limit":
        machine.setLimits([...machine.limits, this.#toLimit(next)]);
        return await this.#follow();
      case "change":
        return await this.#change(next);
      case "drop":
        machine.setLimits(machine.limits.filter((_, index) => index !== next.which % machine.limits.length));
        return;
      case "restart":
        for (const { noted } of this.underWay.splice(0)) noted.endedAtUs = noted.arrivedAtUs;
        return await machine.restart();
      case "renew":
        // Not waited for: what comes next comes meanwhile.
        this.renewals.push(machine.gate.renew());
        return;
      default:
        machine.seal();
    }
  }

  /** What memory has of each limit is what the ledger has. */
  async compare(): Promise<void> {
    const { gate, nowUs, limits } = this.machine;
    await gate.current(SUBJECT);
    await gate.follow();
    await Promise.all(this.renewals);
    const anew = this.machine.countAnew();
    for (const limit of limits) {
      // What is under way is in no ledger.
      if (limit.measure === "concurrent" || (limit.measure === "requests" && this.underWay.length > 0))
        continue;
      const used = (book: typeof anew) =>
        book
          .listUses(limit.id, nowUs)
          .filter(({ amount, unpriced, unknown }) => amount > 0n || unpriced + unknown > 0)
          .map(({ value, amount, unpriced, unknown }) => `${value} ${amount} ${unpriced} ${unknown}`)
          .toSorted();
      expect({ limit: limit.window, used: used(gate.book) }).toEqual({
        limit: limit.window,
        used: used(anew),
      });
    }
  }

  async #ask({ who, tags, fixed, model, endpoint }: Extract<Command, { kind: "ask" }>): Promise<void> {
    const { machine } = this;
    const { gate } = machine;
    // Two requests of one instant would get ids of their own.
    while (this.requests.some(({ arrivedAtUs }) => arrivedAtUs === machine.nowUs)) machine.nowUs += 1;
    const begun: UsageBeginning = {
      ...SUBJECT,
      arrivedAtUs: machine.nowUs,
      principalId: `p${who % 3}`,
      principalName: `p${who % 3}`,
      keyId: who % 4 === 3 ? null : `k${who % 4}`,
      model: MODELS[model % MODELS.length] ?? null,
      endpoint,
      tags: TAGS[tags % TAGS.length] ?? [],
      fixedTags: (TAGS[tags % TAGS.length] ?? []).slice(fixed % 3),
    };
    await gate.current(begun);
    const { nowUs } = machine;
    const met = gate.book.findMet(begun, nowUs, () => true).map(({ limit }) => limit.name);
    const expected = machine.limits
      .filter((limit) => isRefused(limit, begun, { nowUs, requests: this.requests }))
      .map(({ name }) => name);
    expect(met.toSorted()).toEqual(expected.toSorted());
    let isAdmitted = true;
    try {
      gate.admit(begun, () => true);
    } catch {
      isAdmitted = false;
    }
    expect(isAdmitted).toBe(expected.length === 0);
    if (!isAdmitted) return;
    machine.begin(begun);
    const noted: OracleRequest = {
      ...begun,
      endedAtUs: null,
      costPico: 0n,
      tokens: 0,
      cachedTokens: 0,
      isUntold: false,
    };
    this.requests.push(noted);
    this.underWay.push({ begun, noted });
  }

  #end({ which, cost, tokens, priced, how }: Extract<Command, { kind: "end" }>): void {
    const [ended] = this.underWay.splice(which % Math.max(1, this.underWay.length), 1);
    if (ended === undefined) return;
    const { begun, noted } = ended;
    // A clock that was set back meanwhile does not make a request end before it began.
    const durationUs = Math.min(Math.max(0, this.machine.nowUs - begun.arrivedAtUs), DURATION_US_MAX);
    const usage = {
      shape: "exclusive" as const,
      quantities: { input_tokens: tokens, cached_input_tokens: 1, output_tokens: cost },
    };
    const ending: UsageEnding = {
      ...ENDING,
      durationUs,
      usage,
      prices: priced ? { input_tokens: 1, output_tokens: 1, cached_input_tokens: 1 } : {},
      costPico: priced ? BigInt(cost) : null,
      unpriced: !priced,
    };
    noted.endedAtUs = begun.arrivedAtUs + durationUs;
    if (how === "pending") {
      noted.isUntold = true;
      const waiting = { ...ending, usage: PENDING_USAGE, prices: {}, costPico: null, unpriced: false };
      this.pending.push({ begun, noted, ending: waiting });
      this.machine.end(begun, waiting);
      return;
    }
    if (how !== "told") {
      noted.isUntold = COUNTED.has(how);
      const untold = { ...UNTOLD[how], usage: null, costPico: null, unpriced: false };
      this.machine.end(begun, { ...ending, ...untold });
      return;
    }
    noted.costPico = priced ? BigInt(cost) : 0n;
    noted.tokens = tokens + 1 + cost;
    noted.cachedTokens = 1;
    this.machine.end(begun, ending);
  }

  #settle({ which, cost, isTold }: Extract<Command, { kind: "settle" }>): void {
    const [settled] = this.pending.splice(which % Math.max(1, this.pending.length), 1);
    if (settled === undefined) return;
    const { begun, noted, ending } = settled;
    const durationUs = Math.min(Math.max(0, this.machine.nowUs - begun.arrivedAtUs), DURATION_US_MAX);
    noted.endedAtUs = begun.arrivedAtUs + durationUs;
    noted.isUntold = !isTold;
    noted.costPico = isTold ? BigInt(cost) : 0n;
    noted.tokens = isTold ? cost : 0;
    this.machine.settle(begun, ending, {
      ...ending,
      durationUs,
      usage: isTold ? { shape: "inclusive", quantities: { output_tokens: cost } } : null,
      prices: { output_tokens: 1 },
      costPico: isTold ? BigInt(cost) : null,
    });
  }

  async #change({ which, amount, unknown, window, on }: Extract<Command, { kind: "change" }>): Promise<void> {
    const limits = [...this.machine.limits];
    const at = which % Math.max(1, limits.length);
    const limit = limits[at];
    if (limit === undefined) return;
    const changed = limit.window === null ? null : (LIMIT_WINDOWS[window] ?? "day");
    const unknownMax = limit.window === null ? null : unknown;
    limits[at] = { ...limit, amount: BigInt(amount), unknownMax, enabled: on, window: changed };
    this.machine.setLimits(limits);
    await this.#follow();
  }

  /** Some end while the ledger is asked. */
  async #follow(): Promise<void> {
    const following = this.machine.gate.follow();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    this.#end({ kind: "end", which: 0, cost: 1, tokens: 1, priced: true, how: "told" });
    await following;
  }

  #toLimit({
    subject,
    each,
    fixed,
    model,
    measure,
    window,
    amount,
    unknown,
  }: Extract<Command, { kind: "limit" }>): Limit {
    const name = `l${(this.#limitCount += 1)}`;
    const measured = LIMIT_MEASURES[measure % LIMIT_MEASURES.length] ?? "cost";
    return {
      ...LIMIT,
      id: name,
      name,
      subject: SUBJECTS[subject % SUBJECTS.length] ?? { kind: "everybody" },
      model: MODELS[model % MODELS.length] ?? null,
      each: EACH[each % EACH.length] ?? null,
      measure: measured,
      amount: BigInt(amount),
      window: measured === "concurrent" ? null : (LIMIT_WINDOWS[window % LIMIT_WINDOWS.length] ?? "day"),
      unknownMax: measured === "concurrent" ? null : unknown,
      fixed,
    };
  }
}

describe("limits against an oracle that knows only the list of what happened", () => {
  test(
    "refuse what it refuses, and hold what the ledger holds, through ends, changes, restarts, window turns and clocks that are set",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 15, maxLength: 60 }), async (commands) => {
          const play = new Play();
          try {
            for (const next of commands) await play.step(next);
            await play.compare();
          } finally {
            play.machine.remove();
          }
        }),
        { numRuns: SEQUENCES },
      );
    },
    TEST_MS_MAX,
  );

  test("count what another process has recorded as soon as it is read, and keep what is under way", async () => {
    const machine = new Machine(START_US);
    try {
      const limit = {
        measure: 0,
        subject: 0,
        each: 0,
        fixed: false,
        model: 0,
        window: 0,
        amount: 3,
        unknown: null,
      };
      const play = new Play();
      await play.step({ kind: "limit", ...limit });
      play.machine.remove();
      const [counted] = play.machine.limits;
      if (counted === undefined) throw new Error("no limit was made");
      machine.setLimits([
        {
          ...counted,
          model: null,
          each: null,
          measure: "requests",
          window: "day",
          subject: { kind: "everybody" },
        },
      ]);
      await machine.gate.follow();
      const own = { ...SUBJECT, arrivedAtUs: machine.nowUs };
      machine.begin(own);
      machine.recordElsewhere({ ...SUBJECT, arrivedAtUs: machine.nowUs + 1 });
      machine.recordElsewhere({ ...SUBJECT, arrivedAtUs: machine.nowUs + 2 });
      const used = () => machine.gate.book.listUses(counted.id, machine.nowUs).map(({ amount }) => amount);
      expect(used().at(0) ?? 0n).toBe(0n);
      const renewal = machine.gate.renew();
      machine.end(own, ENDING);
      await renewal;
      expect(used()).toEqual([3n]);
      expect(() => machine.gate.admit({ ...SUBJECT, arrivedAtUs: machine.nowUs + 3 }, () => true)).toThrow();
    } finally {
      machine.remove();
    }
  });
});
