import { describe, expect, test } from "bun:test";
import { type Notice, toNotice } from "#notices/notice.ts";
import { Outbox } from "#notices/outbox.ts";
import type { NoticeStore } from "#notices/store.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { createFakeClock, silentLog, START_US } from "../support.ts";
import { createPostgresCatalog } from "./catalog-engine.ts";

const CLAIM_US = 60_000_000;
const told = (text: string) => ({
  notice: toNotice({ type: "price.missing", text, facts: { model: text } }, `id-${text}`, START_US),
  mark: null,
});

/** Sends what it claims, for ever while its webhook is away; each pause lasts until `again` is called. */
function createReplica(store: NoticeStore, isAway: boolean) {
  const posted: string[] = [];
  let pause = Promise.withResolvers<void>();
  const outbox = new Outbox({
    store,
    async post({ text }: Notice) {
      posted.push(text);
      return isAway ? { kind: "failed", reason: "refused" } : { kind: "answered", status: 200 };
    },
    clock: createFakeClock(),
    ids: { uuid: () => crypto.randomUUID(), randomBytes: (length) => new Uint8Array(length) },
    log: silentLog,
    pause: (_ms, signal) =>
      Promise.race([
        pause.promise,
        new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
      ]),
  });
  return { outbox, posted, again: () => (pause.resolve(), (pause = Promise.withResolvers())) };
}

describe.skipIf(postgresMissing !== null)("a notice that waits", () => {
  test("is sent by the replica that has put it, by no other one that starts or looks, and by another one once that has ended", async () => {
    await using engine = createPostgresCatalog();
    const [left, right] = [await engine.open(), await engine.open()];
    await left.notices.put([told("a"), told("b")], START_US);
    const [first, second] = [createReplica(left.notices, true), createReplica(right.notices, false)];
    await second.outbox.open();
    await second.outbox.takeUp();
    expect([second.posted, second.outbox.waitingCount()]).toEqual([[], 0]);
    // A server that comes back takes up what is nobody's.
    await left.notices.claims!.release((await left.notices.list()).map(({ sequence }) => sequence));
    await first.outbox.open();
    expect(first.outbox.waitingCount()).toBe(2);
    await second.outbox.takeUp();
    expect(second.posted).toEqual([]);
    await first.outbox.close();
    await second.outbox.takeUp();
    while (second.outbox.waitingCount() > 0) await Bun.sleep(1);
    expect([first.posted, second.posted]).toEqual([["a"], ["a", "b"]]);
    await second.outbox.close();
    expect(await right.notices.list()).toEqual([]);
    const database = await engine.database();
    expect(await database.all("SELECT name FROM notice_marks")).toEqual([]);
  });

  test("of a replica that was killed is taken by one other, a minute after the last renewal and not before", async () => {
    await using engine = createPostgresCatalog();
    const replicas = [await engine.open(), await engine.open(), await engine.open()];
    const [left, ...others] = replicas.map(({ notices }) => notices);
    const [put] = await left!.put([told("a")], START_US);
    expect(await left!.claims!.take([put!.sequence], START_US + CLAIM_US / 2)).toEqual([]);
    const take = async (nowUs: number) =>
      (await Promise.all(others.map((store) => store.claims!.take([], nowUs)))).flat();
    expect(await take(START_US + CLAIM_US)).toEqual([]);
    expect(await take(START_US + 1.5 * CLAIM_US)).toEqual([put!]);
    expect(await take(START_US + 1.5 * CLAIM_US + 1)).toEqual([]);
  });
});
