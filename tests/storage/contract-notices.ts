import { describe, expect, test } from "bun:test";
import { NO_TERMS } from "#identity/secret.ts";
import { toNotice } from "#notices/notice.ts";
import type { Telling } from "#notices/store.ts";
import { apiKey, principal, relayToken, START_US, type CatalogEngine } from "./support.ts";
import { toPromises } from "./promises.ts";

const told = (text: string, once: Partial<Telling> = {}): Telling => ({
  notice: toNotice({ type: "price.missing", text, facts: { model: text } }, `id-${text}`, START_US),
  mark: null,
  ...once,
});
const mark = (name: string, untilUs = START_US + 10) => ({ name, untilUs });

/** Notices that wait, and what was told already. */
export function testNoticesContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);
  describe(`${engineName}: notices`, () => {
    it("wait in their order until they are removed, on every connection, with all that they tell", async (left) => {
      const right = await left.open();
      expect(await left.notices.list()).toEqual([]);
      const put = await left.notices.put([told("a"), told("b"), told("c")], START_US);
      expect(put.map(({ notice }) => notice)).toEqual(
        [told("a"), told("b"), told("c")].map((one) => one.notice),
      );
      expect(await right.notices.list()).toEqual(put);
      await right.notices.remove([put[0]!.sequence, put[1]!.sequence, 4711]);
      expect(await left.notices.list()).toEqual(put.slice(2));
      const [later] = await left.notices.put([told("d")], START_US);
      expect(later!.sequence).toBeGreaterThan(put[2]!.sequence);
    });

    it("are put once for a mark until it ends, also within one call, and set what else they make superfluous", async (stores) => {
      const { notices } = stores;
      const texts = async (...tellings: Telling[]) =>
        (await notices.put(tellings, START_US)).map(({ notice }) => notice.text);
      expect(await texts(told("a", { mark: mark("one") }), told("b", { mark: mark("one") }))).toEqual(["a"]);
      expect(await texts(told("c", { mark: mark("one") }), told("d"))).toEqual(["d"]);
      expect(await texts(told("e", { mark: mark("two"), alsoMarks: [mark("three")] }))).toEqual(["e"]);
      expect(await texts(told("f", { mark: mark("three") }))).toEqual([]);
      // One that was not put sets nothing.
      expect(await texts(told("g", { mark: mark("two"), alsoMarks: [mark("four")] }))).toEqual([]);
      expect(await texts(told("h", { mark: mark("four") }))).toEqual(["h"]);
      const late = await notices.put([told("i", { mark: mark("one", START_US + 99) })], START_US + 10);
      expect(late).toHaveLength(1);
      expect(await texts(told("j", { clears: "one" }), told("k", { mark: mark("one") }))).toEqual(["j", "k"]);
    });

    it("that take a mark away are put once for it: of replicas that saw the same end, one tells", async (left) => {
      const { engine } = left;
      const right = await engine.open();
      const ended = told("ended", { clears: "one" });
      const puts = [
        await left.notices.put([ended], START_US),
        await left.notices.put([told("began", { mark: mark("one") })], START_US),
        await right.notices.put([ended], START_US),
        await left.notices.put([ended], START_US),
        await left.notices.put([told("again", { mark: mark("one") }), ended, ended], START_US),
      ];
      expect(puts.map((put) => put.map(({ notice }) => notice.text))).toEqual([
        [],
        ["began"],
        ["ended"],
        [],
        ["again", "ended"],
      ]);
    });

    test("that several have to tell at once are put by one of them, and are numbered in the order in which all list them", async () => {
      await using engine = createEngine();
      const connections = [await engine.open(), await engine.open()];
      const puts = await Promise.all(
        Array.from({ length: 6 }, (_, at) =>
          connections[at % 2]!.notices.put(
            [told(`${at}`, { mark: mark("one") }), told(`free ${at}`)],
            START_US,
          ),
        ),
      );
      expect(puts.filter(({ length }) => length === 2)).toHaveLength(1);
      expect(puts.flat()).toHaveLength(7);
      const sequences = puts.flat().map(({ sequence }) => sequence);
      const { notices } = connections[1]!;
      expect((await notices.list()).map(({ sequence }) => sequence)).toEqual(
        sequences.toSorted((left, right) => left - right),
      );
      expect(await notices.listMarks("one")).toEqual(["one"]);
      await notices.remove(Array.from({ length: 66_000 }, (_, at) => at));
      expect(await notices.list()).toEqual([]);
    });

    it("leave their marks behind until these end, which are listed by how they begin", async (stores) => {
      const { notices } = stores;
      const marks = ["a 1", "a 2", "b 1", "A 3", "a%"].map((name, at) =>
        told(name, { mark: mark(name, START_US + at) }),
      );
      await notices.put(marks, START_US - 1);
      expect(await notices.listMarks("a ")).toEqual(["a 1", "a 2"]);
      expect(await notices.listMarks("a%")).toEqual(["a%"]);
      await notices.sweepMarks(START_US);
      expect(await notices.listMarks("a ")).toEqual(["a 2"]);
      await notices.sweepMarks(START_US + 10);
      expect(await notices.listMarks("")).toEqual([]);
      expect(await notices.list()).toHaveLength(marks.length);
    });

    it("are asked for by keys and relay tokens that expire in a while, but for what is paused, disabled, past or far off", async (stores) => {
      const { identity, notices } = stores;
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob", { enabled: false }), null);
      const until = (expiresAtUs: number | null, more = {}) => ({
        terms: { ...NO_TERMS, expiresAtUs, ...more },
      });
      const key = (name: string, terms: object, owner = "principal-ann") =>
        identity.keys.create(apiKey(name, owner, terms), null);
      await key("last", until(START_US + 20));
      await key("first", until(START_US + 10));
      await key("endless", until(null));
      await key("past", until(START_US));
      await key("far", until(START_US + 21));
      await key("paused", until(START_US + 10, { pausedBy: "owner" }));
      await key("bobs", until(START_US + 10), "principal-bob");
      await identity.relayTokens.create(relayToken("token", "principal-ann", until(START_US + 15)), null);
      const range = { afterUs: START_US, untilUs: START_US + 20, rowsMax: 100 };
      const found = await notices.listExpiring(range);
      expect(found.map(({ kind, id, principalName }) => [kind, id, principalName])).toEqual([
        ["api_key", apiKey("first", "").id, "ann"],
        ["api_key", apiKey("last", "").id, "ann"],
        ["relay_token", relayToken("token", "").id, "ann"],
      ]);
      expect(Object.keys(found[0]!).toSorted()).toEqual([
        "expiresAtUs",
        "id",
        "kind",
        "label",
        "principalName",
      ]);
      expect(await notices.listExpiring({ ...range, rowsMax: 1 })).toHaveLength(2);
    });

    it("are kept without a look at the limits, which stay the same object in memory", async (stores) => {
      const { limits, notices } = stores;
      const set = await limits.snapshot();
      const [put] = await notices.put([told("a", { mark: mark("one") })], START_US);
      expect(limits.peek()).toBe(set);
      await notices.remove([put!.sequence]);
      await notices.sweepMarks(START_US + 99);
      expect(limits.peek()).toBe(set);
    });
  });
}
