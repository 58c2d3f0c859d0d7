import { describe, expect, test } from "bun:test";
import type { Log } from "#kernel/log.ts";
import {
  NOTICES_WAITING_MAX,
  Outbox,
  PAUSE_MS_MAX,
  PAUSE_MS_MIN,
  TRIED_MS_MAX,
  type OutboxDeps,
} from "#notices/outbox.ts";
import type { Notice, NoticeDraft } from "#notices/notice.ts";
import type { PostOutcome } from "#notices/post.ts";
import type { Telling, WaitingNotice } from "#notices/store.ts";

const OK: PostOutcome = { kind: "answered", status: 204 };
const FAILED: PostOutcome = { kind: "answered", status: 500 };
const ONCE = { mark: null } as const;
const draft = (text: string): NoticeDraft => ({ type: "price.missing", text, facts: { model: text } });

/** A store in memory, which a second outbox opens after the first. */
function createStore() {
  const rows: WaitingNotice[] = [];
  const marks = new Set<string>();
  let sequence = 0;
  return {
    rows,
    isBroken: false,
    async put(tellings: readonly Telling[]) {
      if (this.isBroken) throw new Error("the disk is full");
      const put = tellings.flatMap(({ notice, mark }) => {
        if (mark !== null && marks.has(mark.name)) return [];
        if (mark !== null) marks.add(mark.name);
        sequence += 1;
        return [{ sequence, notice }];
      });
      rows.push(...put);
      return put;
    },
    list: async () => [...rows],
    async remove(sequences: readonly number[]) {
      for (const one of sequences) {
        const at = rows.findIndex((row) => row.sequence === one);
        if (at !== -1) rows.splice(at, 1);
      }
    },
  };
}

function createWorld(answer: (notice: Notice, nowMs: number) => PostOutcome, store = createStore()) {
  let nowMs = 0;
  let ids = 0;
  const posted: string[] = [];
  const pauses: number[] = [];
  const lines: string[] = [];
  const note = (message: string, fields = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const deps: OutboxDeps = {
    store,
    async post(notice) {
      posted.push(notice.text);
      return answer(notice, nowMs);
    },
    clock: { nowUs: () => Date.parse("2026-11-23T00:00:00Z") * 1000, monotonicMs: () => nowMs },
    ids: { uuid: () => `id-${(ids += 1)}`, randomBytes: () => new Uint8Array() },
    log,
    async pause(ms) {
      pauses.push(ms);
      nowMs += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const outbox = new Outbox(deps);
  return {
    outbox,
    store,
    posted,
    pauses,
    lines,
    /** Fulfilled when nothing waits. */
    async idle() {
      while (outbox.waitingCount() > 0 || store.rows.length > 0)
        await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe("notices are sent", () => {
  test("in their order, each once, and none stays behind", async () => {
    const world = createWorld(() => OK);
    for (const text of ["a", "b", "c"]) world.outbox.tell(draft(text), ONCE);
    expect(world.posted).toEqual([]);
    await world.idle();
    expect(world.posted).toEqual(["a", "b", "c"]);
    expect(world.outbox.counts()).toEqual([{ type: "price.missing", result: "delivered", count: 3 }]);
    expect(world.lines).toEqual([]);
  });

  test("once for a mark, and not again while it is set", async () => {
    const world = createWorld(() => OK);
    const once = { mark: { name: "day", untilUs: 1 } };
    world.outbox.tell(draft("a"), once);
    world.outbox.tell(draft("again"), once);
    await world.idle();
    world.outbox.tell(draft("and again"), once);
    world.outbox.tell(draft("b"), ONCE);
    await world.idle();
    expect(world.posted).toEqual(["a", "b"]);
  });

  test("again after growing pauses until one is taken, those behind it not before, with one line of the log", async () => {
    let failures = 0;
    const world = createWorld(() => ((failures += 1) <= 4 ? FAILED : OK));
    world.outbox.tell(draft("a"), ONCE);
    world.outbox.tell(draft("b"), ONCE);
    await world.idle();
    expect(world.posted).toEqual(["a", "a", "a", "a", "a", "b"]);
    expect(world.pauses).toEqual([1, 2, 4, 8].map((seconds) => seconds * PAUSE_MS_MIN));
    expect(world.lines).toEqual([
      'a notice was not delivered: it is tried again for an hour {"notice":"id-1","type":"price.missing","status":500}',
      "notices are delivered again {}",
    ]);
  });

  test("for an hour to a webhook that answers 500, and are dropped then with a line each; the next one is tried for an hour of its own", async () => {
    const world = createWorld((_, nowMs) => (nowMs < 2 * TRIED_MS_MAX ? FAILED : OK));
    world.outbox.tell(draft("a"), ONCE);
    world.outbox.tell(draft("b"), ONCE);
    await world.idle();
    const spentMs = world.pauses.reduce((sum, ms) => sum + ms, 0);
    expect(spentMs).toBeGreaterThanOrEqual(TRIED_MS_MAX);
    expect(spentMs).toBeLessThan(TRIED_MS_MAX + 2 * PAUSE_MS_MAX);
    expect(Math.max(...world.pauses)).toBe(PAUSE_MS_MAX);
    expect(world.posted).not.toContain("b");
    expect(world.outbox.counts()).toEqual([{ type: "price.missing", result: "dropped", count: 2 }]);
    const dropped = world.lines.filter((line) => line.startsWith("a notice was dropped: it was tried"));
    expect(dropped).toHaveLength(2);

    const before = world.posted.length;
    world.outbox.tell(draft("c"), ONCE);
    await world.idle();
    expect(world.posted.length - before).toBeGreaterThan(10);
    expect(world.posted.at(-1)).toBe("c");
  });

  test("after a restart where they had not arrived, and those that had are not", async () => {
    const store = createStore();
    const held = Promise.withResolvers<PostOutcome>();
    const first = createWorld(() => OK, store);
    first.outbox.tell(draft("arrived"), ONCE);
    await first.idle();
    const stuck = new Outbox({
      ...depsOf(first, store),
      post: async (_, signal) => {
        signal.addEventListener("abort", () => held.resolve({ kind: "failed", reason: "stopped" }));
        return held.promise;
      },
    });
    stuck.tell(draft("a"), ONCE);
    stuck.tell(draft("b"), ONCE);
    while (store.rows.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await stuck.close();
    expect(store.rows.map(({ notice }) => notice.text)).toEqual(["a", "b"]);
    const second = createWorld(() => OK, store);
    await second.outbox.open();
    await second.idle();
    expect(second.posted).toEqual(["a", "b"]);
  });

  test("when the disk takes them again, and are kept in their order meanwhile", async () => {
    const store = createStore();
    store.isBroken = true;
    const world = createWorld(() => OK, store);
    world.outbox.tell(draft("a"), ONCE);
    world.outbox.tell(draft("b"), ONCE);
    while (world.pauses.length < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(world.posted).toEqual([]);
    store.isBroken = false;
    world.outbox.tell(draft("c"), ONCE);
    await world.idle();
    expect(world.posted).toEqual(["a", "b", "c"]);
  });

  test(`but for the oldest of more than ${NOTICES_WAITING_MAX}, which are dropped with a line each`, async () => {
    const { world, outbox, letGo } = createHeld();
    for (let at = 0; at < NOTICES_WAITING_MAX; at += 1) outbox.tell(draft(`n${at}`), ONCE);
    while (world.posted.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let at = 0; at < 3; at += 1) outbox.tell(draft(`late${at}`), ONCE);
    while (!world.store.rows.some(({ notice }) => notice.text === "late2"))
      await new Promise((resolve) => setImmediate(resolve));
    expect(outbox.waitingCount()).toBe(NOTICES_WAITING_MAX);
    letGo();
    while (outbox.waitingCount() > 0 || world.store.rows.length > 0)
      await new Promise((resolve) => setImmediate(resolve));
    expect(world.posted.slice(0, 2)).toEqual(["n0", "n4"]);
    expect(world.posted.slice(-3)).toEqual(["late0", "late1", "late2"]);
    expect(world.lines).toHaveLength(3);
  });
});

test("a flood of one limit's notices drops its own alone: what others have to tell arrives, in order", async () => {
  const { world, outbox, letGo } = createHeld();
  const of = (type: NoticeDraft["type"], text: string, facts: NoticeDraft["facts"]) =>
    outbox.tell({ type, text, facts }, ONCE);
  const others = [
    () => of("limit.reached", "another limit", { limit: { id: "other" } }),
    () => of("key.expiring", "ada's key", { key: { principal: "ada" } }),
    () => of("provider.failing", "a provider", { provider: "up" }),
    () => of("price.missing", "a model", { model: "m" }),
  ];
  for (const tell of others) tell();
  while (world.posted.length === 0) await new Promise((resolve) => setImmediate(resolve));
  // Half of them told before they are kept, half one after the other.
  for (let at = 0; at < 2_500; at += 1) {
    of("limit.reached", `flood ${at}`, { limit: { id: "flooded" } });
    if (at > 1_250 && at % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  of("limit.reached", "a late one", { limit: { id: "late" } });
  letGo();
  while (outbox.waitingCount() > 0 || world.store.rows.length > 0)
    await new Promise((resolve) => setImmediate(resolve));
  expect(world.posted.filter((text) => !text.startsWith("flood"))).toEqual([
    "another limit",
    "ada's key",
    "a provider",
    "a model",
    "a late one",
  ]);
  expect(world.posted.at(-2)).toBe("flood 2499");
  expect(world.posted.length).toBeLessThan(2 * NOTICES_WAITING_MAX);
});

/** An outbox whose first notice is under way until `letGo`. */
function createHeld() {
  const held = Promise.withResolvers<PostOutcome>();
  const world = createWorld(() => OK);
  let isHeld = true;
  const outbox = new Outbox({
    ...depsOf(world, world.store),
    async post(notice) {
      world.posted.push(notice.text);
      return isHeld ? held.promise : OK;
    },
  });
  const letGo = () => {
    isHeld = false;
    held.resolve(OK);
  };
  return { world, outbox, letGo };
}

function depsOf(world: ReturnType<typeof createWorld>, store: ReturnType<typeof createStore>): OutboxDeps {
  const note = (message: string) => void world.lines.push(message);
  return {
    store,
    post: async () => OK,
    clock: { nowUs: () => 0, monotonicMs: () => 0 },
    ids: { uuid: () => "id", randomBytes: () => new Uint8Array() },
    log: { debug: note, info: note, warn: note, error: note },
    pause: async () => undefined,
  };
}
