import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { TAG_VALUES_OF_PRINCIPAL_MAX } from "#limits/limit-entry.ts";
import type { UsageBeginning } from "#usage/event.ts";
import { ENDING, SUBJECT } from "../ledger/usage.ts";
import { TEAMS } from "./limit.ts";
import { Machine } from "./machine.ts";

const START_US = Date.UTC(2026, 10, 23, 12) * 1000;
const DAY_US = 86_400e6;
/** More than any list of teams, and enough to fill what one principal may bring many times. */
const MADE_UP = 2_000;

let machine: Machine;
beforeEach(() => void (machine = new Machine(START_US)));
afterEach(() => machine.remove());

function toRequest(name: string, team: string): UsageBeginning {
  machine.nowUs += 1;
  return {
    ...SUBJECT,
    arrivedAtUs: machine.nowUs,
    principalId: `id of ${name}`,
    principalName: name,
    tags: [`team:${team}`],
  };
}

/** Whether it was let in; it has ended then. */
function ask(name: string, team: string): boolean {
  const request = toRequest(name, team);
  try {
    machine.gate.admit(request, () => true);
  } catch {
    return false;
  }
  machine.begin(request);
  machine.end(request, ENDING);
  return true;
}

const uses = () =>
  machine.gate.book.listUses(TEAMS.id, machine.nowUs).map(({ label, amount }) => [label, Number(amount)]);

describe("values of a tag that one principal makes up", () => {
  beforeEach(async () => {
    machine.setLimits([TEAMS]);
    await machine.gate.follow();
  });

  test("share a count of its own beyond the first hundred, and every new team of others has its whole amount", () => {
    const passed = Array.from({ length: MADE_UP }, (_, index) => ask("mallory", `x${index}`));
    // The first of each hundred, and three of all the others together.
    expect(passed.filter(Boolean)).toHaveLength(TAG_VALUES_OF_PRINCIPAL_MAX + 3);
    expect(uses()).toHaveLength(TAG_VALUES_OF_PRINCIPAL_MAX + 1);
    expect(uses()[0]).toEqual(["(other) of mallory", 3]);
    for (const team of ["search", "ads"])
      expect([1, 2, 3, 4].map(() => ask("ada", team))).toEqual([true, true, true, false]);
    // A value that others have brought is theirs, whoever sends it; one of its own goes on.
    expect([ask("mallory", "search"), ask("mallory", "x0"), ask("mallory", "x1999")]).toEqual([
      false,
      true,
      false,
    ]);
    expect(() => machine.gate.admit(toRequest("mallory", "another"), () => true)).toThrow("3 of 3 requests");
  });

  test("are the same sum after a start, and free again in the next window", async () => {
    for (let index = 0; index < MADE_UP; index += 1) ask("mallory", `x${index}`);
    ask("ada", "search");
    const before = uses();
    await machine.restart();
    expect(Object.fromEntries(uses())).toEqual(Object.fromEntries(before));
    expect([ask("ada", "search"), ask("ada", "new"), ask("mallory", "y")]).toEqual([true, true, false]);
    machine.nowUs += DAY_US;
    machine.gate.book.sweep(machine.nowUs);
    expect(uses()).toEqual([]);
    expect(ask("mallory", "y")).toBe(true);
    expect(uses()).toEqual([["team:y", 1]]);
  });

  test("end where they began, also when their value has got a count of its own meanwhile", () => {
    machine.setLimits([{ ...TEAMS, measure: "concurrent", window: null }]);
    return machine.gate.follow().then(() => {
      const held = Array.from({ length: TAG_VALUES_OF_PRINCIPAL_MAX }, (_, index) =>
        toRequest("mallory", `x${index}`),
      );
      for (const request of held) machine.begin(request);
      const shared = toRequest("mallory", "search");
      machine.begin(shared);
      const ada = toRequest("ada", "search");
      machine.begin(ada);
      expect(uses()).toContainEqual(["(other) of mallory", 1]);
      machine.end(shared, ENDING);
      for (const request of held) machine.end(request, ENDING);
      expect(uses().filter(([, open]) => open !== 0)).toEqual([["team:search", 1]]);
      machine.end(ada, ENDING);
      machine.gate.book.sweep(machine.nowUs);
      expect(uses()).toEqual([]);
    });
  });
});
