import { Icon } from "../../../components/icon.tsx";
import { formatCount } from "../../../text/format.ts";
import type { FeedDiff } from "./feed-diff.ts";
import type { FeedProblem, FeedReading } from "./feed-file.ts";

/** As many as one reads; the rest is a number. */
const LISTED_MAX = 50;

/** What the server would refuse, by the field of the file. */
export function Problems({ problems }: { readonly problems: readonly FeedProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <div role="alert" className="flex min-w-0 gap-2.5 rounded-card bg-bad-soft p-3.5">
      <Icon name="warning" className="mt-0.5 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {problems.length === 1
            ? "1 problem. Correct it or leave the entry out: a feed is loaded completely or not at all."
            : `${formatCount(problems.length)} problems. Correct them or leave the entries out: a feed is loaded completely or not at all.`}
        </p>
        <div
          role="region"
          aria-label="Problems"
          tabIndex={0}
          className="mt-1.5 max-h-40 overflow-y-auto text-xs text-ink-soft"
        >
          <ul className="flex flex-col gap-1">
            {problems.slice(0, LISTED_MAX).map(({ param, message }, place) => (
              <li key={place}>
                <code className="font-mono text-ink">{param}</code> {message}
              </li>
            ))}
          </ul>
          {problems.length > LISTED_MAX && (
            <p className="mt-1">and {formatCount(problems.length - LISTED_MAX)} more</p>
          )}
        </div>
      </div>
    </div>
  );
}

/** What is worth knowing and stops nothing. */
export function FeedNotes({ reading, diff }: { readonly reading: FeedReading; readonly diff: FeedDiff }) {
  const notes = toNotes(reading, diff);
  if (notes.length === 0) return null;
  return (
    <ul className="flex flex-col gap-1 text-xs text-ink-soft">
      {notes.map((note) => (
        <li key={note} className="flex items-start gap-1.5">
          <Icon name="info" size={14} className="mt-px text-ink-faint" />
          <span>{note}</span>
        </li>
      ))}
    </ul>
  );
}

function toNotes(
  { skipped, partialCount }: FeedReading,
  { lines, unusedCount }: FeedDiff,
): readonly string[] {
  const freeCount = lines.filter(({ newPerMillion }) => newPerMillion === 0).length;
  const overWritten = lines.filter(
    ({ kind, oldPerMillion, oldVersion }) =>
      kind === "changed" && oldPerMillion !== null && oldVersion === null,
  ).length;
  return [
    count(unusedCount, {
      one: "1 price is for a name that is not in use.",
      many: "prices are for names that are not in use.",
    }),
    count(overWritten, {
      one: "1 price replaces one that was set with a model.",
      many: "prices replace ones that were set with a model.",
    }),
    count(freeCount, {
      one: "1 price is 0: the unit is free, not unpriced.",
      many: "prices are 0: these units are free, not unpriced.",
    }),
    count(partialCount, {
      one: "1 model has further prices that have no unit here (tiers, batches, cache writes, images): they are not taken.",
      many: "models have further prices that have no unit here (tiers, batches, cache writes, images): they are not taken.",
    }),
    count(skipped.length, {
      one: "1 entry was skipped: see Skipped.",
      many: "entries were skipped: see Skipped.",
    }),
  ].flat();
}

function count(number: number, words: { readonly one: string; readonly many: string }): readonly string[] {
  if (number === 0) return [];
  return [number === 1 ? words.one : `${formatCount(number)} ${words.many}`];
}
