import { HOUR_US } from "#kernel/clock.ts";
import type { Pico } from "#kernel/units.ts";
import type { HourSpend, SpendQuestion } from "#notices/store.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { Script } from "#storage/sql/script.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets } from "./label-groups.ts";
import { everyRequest } from "./request-filter.ts";
import { cutRange, readEdges, toRowsFrom } from "./window-cut.ts";

type Subject = Pick<HourSpend, "kind" | "value" | "principalName">;

const SUBJECT: readonly GroupLabel[] = [
  { label: "principal_id" },
  { label: "principal_name" },
  { label: "key_id" },
  { label: "tags" },
];

/**
 * `SpendLedger.readHourSpend`, from cells of hours. Where nobody reaches `leastPico`, which is most often, nothing but that hour
 * is read. An earlier hour that has no cells, before the ledger's beginning or since retention removed it, is left out.
 */
export function* readHourSpend({
  hour,
  earlier,
  leastPico,
  rowsMax,
}: SpendQuestion): Script<readonly HourSpend[]> {
  const edges = yield* readEdges();
  if (edges === null || hour * HOUR_US >= edges.endUs) return [];
  const filter = yield* everyRequest();
  const groups = yield* groupLabelSets(filter, SUBJECT);
  const subjects = new Map<string, Subject>();
  const sumHour = function* sum(at: number): Script<ReadonlyMap<string, Pico>> {
    const cut = cutRange({ fromUs: at * HOUR_US, toUs: (at + 1) * HOUR_US }, "hour", edges);
    const fold = yield* foldBy({ cut, filter, groups }, ["cost_hi", "cost_lo"]);
    const costs = new Map<string, Pico>();
    for (const { group, cost_hi: high, cost_lo: low } of fold.sums()) {
      const costPico = joinCost(high, low);
      if (costPico === 0n) continue;
      for (const subject of toSubjects(groups.values[group] ?? [])) {
        const key = `${subject.kind} ${subject.value}`;
        subjects.set(key, subject);
        costs.set(key, (costs.get(key) ?? 0n) + costPico);
      }
    }
    return costs;
  };
  const now = [...(yield* sumHour(hour))].filter(([, costPico]) => costPico >= leastPico);
  if (now.length === 0) return [];
  const chosen = now.sort(([, one], [, other]) => (one < other ? 1 : one > other ? -1 : 0)).slice(0, rowsMax);
  const before: ReadonlyMap<string, Pico>[] = [];
  for (const at of earlier) {
    if (at * HOUR_US >= toRowsFrom(edges)) before.push(yield* sumHour(at));
  }
  return chosen.flatMap(([key, costPico]) => {
    const subject = subjects.get(key);
    if (subject === undefined) return [];
    return [{ ...subject, costPico, earlierPico: before.map((costs) => costs.get(key) ?? 0n) }];
  });
}

function toSubjects([principalId = null, principalName = null, keyId = null, tags = null]: readonly (
  | string
  | null
)[]): readonly Subject[] {
  const name = principalName ?? "";
  const subjects: Subject[] = [];
  if (principalId !== null) subjects.push({ kind: "principal", value: principalId, principalName: name });
  if (keyId !== null) subjects.push({ kind: "key", value: keyId, principalName: name });
  for (const pair of parseStoredTags(tags ?? "[]").tags)
    subjects.push({ kind: "tag", value: pair, principalName: "" });
  return subjects;
}
