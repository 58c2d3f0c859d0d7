import { useMemo, useState } from "react";
import type { SkippedPrice, UnreadField } from "#interchange/price-map.ts";
import type { NamesInUse } from "#interchange/prices-in-use.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import { UNIT_TABLE } from "#kernel/units.ts";
import { Badge } from "../../../components/chip.tsx";
import { CheckboxField } from "../../../components/choice-field.tsx";
import { type Column, textColumn } from "../../../components/column.ts";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { Icon } from "../../../components/icon.tsx";
import { Segmented } from "../../../components/segmented.tsx";
import { DataTable, LateVirtualBody } from "../../../components/table.tsx";
import { TextField } from "../../../components/text-field.tsx";
import {
  type FeedDiff,
  type FeedLine,
  type FeedProblem,
  type FeedReading,
  type KeptPrices,
  type LineKind,
  type LoadChoices,
  type LoadPlan,
  takeUsed,
  toFeedDiff,
  toUsedNames,
} from "./feed.ts";
import { formatChange, formatCount, formatMoneyExact } from "../../../text/format.ts";

interface FeedReviewProps {
  readonly fileName: string;
  readonly reading: FeedReading;
  readonly plan: LoadPlan;
  readonly choices: LoadChoices;
  readonly onChoose: (choices: LoadChoices) => void;
  readonly kept: KeptPrices;
  readonly inUse: NamesInUse;
  /** The error of the last try to load it. */
  readonly failure: Error | null;
}

type Shown = "changed" | "added" | "unchanged" | "skipped";

/** The prices of a file beside those of now, and what stands in the way of loading it. */
export function FeedReview(props: FeedReviewProps) {
  const { fileName, reading, plan, choices, onChoose, kept, inUse } = props;
  const { entries } = plan;
  const diff = useMemo(() => toFeedDiff(entries, kept, toUsedNames(inUse)), [entries, kept, inUse]);
  const [chosen, setShown] = useState<Shown | null>(null);
  const usedCount = useMemo(() => takeUsed(reading, inUse).length, [reading, inUse]);
  const shown = chosen ?? (diff.counts.changed > 0 || diff.counts.added === 0 ? "changed" : "added");
  const bad = reading.badEntries.length;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <p className="text-ink-soft">
        <span className="break-words text-ink">{fileName}</span>:{" "}
        {reading.kind === "price_map" ? "LiteLLM’s price map" : "a pricing feed"} with{" "}
        {formatCount(reading.entries.length + bad)} prices. Nothing is loaded yet.
      </p>
      {props.failure !== null && <ErrorNotice failure={props.failure} />}
      <Problems problems={plan.problems} />
      <TextField
        label="Version"
        required
        value={choices.version}
        onValueChange={(version) => onChoose({ ...choices, version })}
        error={plan.versionError}
        hint="A label for these prices. The same version can be loaded again."
      />
      <div className="flex flex-col gap-1.5">
        {bad > 0 && (
          <CheckboxField
            label={
              bad === 1 ? "Leave out the invalid entry" : `Leave out ${formatCount(bad)} invalid entries`
            }
            checked={choices.leavesOutBad}
            onCheckedChange={(leavesOutBad) => onChoose({ ...choices, leavesOutBad })}
          />
        )}
        <CheckboxField
          label={`Only names in use here (${formatCount(usedCount)} of ${formatCount(reading.entries.length)} prices)`}
          checked={choices.onlyUsed}
          onCheckedChange={(onlyUsed) => onChoose({ ...choices, onlyUsed })}
          hint={
            reading.lookup === null
              ? "Aliases, upstream names, and models called in the last 30 days, relayed ones included"
              : "By what the provider calls a model: an alias that stands for another model gets no price of its name"
          }
        />
      </div>
      <FeedNotes reading={reading} diff={diff} />
      <div className="flex min-w-0 flex-col gap-2">
        <Segmented<Shown>
          label="Show"
          value={shown}
          onValueChange={setShown}
          options={[
            { value: "changed", label: `Changed ${formatCount(diff.counts.changed)}` },
            { value: "added", label: `Added ${formatCount(diff.counts.added)}` },
            { value: "unchanged", label: `Unchanged ${formatCount(diff.counts.unchanged)}` },
            ...(reading.skipped.length > 0
              ? [{ value: "skipped" as const, label: `Skipped ${formatCount(reading.skipped.length)}` }]
              : []),
          ]}
        />
        <FeedLines shown={shown} diff={diff} skipped={reading.skipped} />
      </div>
    </div>
  );
}

/** As many as one reads; the rest is a number. */
const LISTED_MAX = 50;

/** What the server would refuse, by the field of the file. */
function Problems({ problems }: { readonly problems: readonly FeedProblem[] }) {
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
function FeedNotes({ reading, diff }: { readonly reading: FeedReading; readonly diff: FeedDiff }) {
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
  { skipped, unread, uncachedCount }: FeedReading,
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
    unread.length === 0 ? [] : [toUnreadNote(unread)],
    count(uncachedCount, {
      one: "1 model has no price of cached input under some condition: it is unpriced there.",
      many: "models have no price of cached input under some condition: it is unpriced there.",
    }),
    count(skipped.length, {
      one: "1 entry was skipped: see Skipped.",
      many: "entries were skipped: see Skipped.",
    }),
  ].flat();
}

/** As many as one reads. */
const FIELDS_MAX = 6;

function toUnreadNote(unread: readonly UnreadField[]): string {
  const named = unread
    .slice(0, FIELDS_MAX)
    .map(({ field, models }) => `${field} (${formatCount(models)} ${models === 1 ? "model" : "models"})`);
  const rest = unread.length - named.length;
  return `No unit or condition here, so not taken: ${named.join(", ")}${rest > 0 ? ` and ${formatCount(rest)} more` : ""}.`;
}

function count(number: number, words: { readonly one: string; readonly many: string }): readonly string[] {
  if (number === 0) return [];
  return [number === 1 ? words.one : `${formatCount(number)} ${words.many}`];
}

interface FeedLinesProps {
  readonly shown: LineKind | "skipped";
  readonly diff: FeedDiff;
  readonly skipped: readonly SkippedPrice[];
}

/** From here on only the rows in sight are drawn. */
const VIRTUAL_ROWS = 100;
const HEIGHT = "max-h-80 rounded-card border border-line";

/** The lines of one kind. */
function FeedLines({ shown, diff, skipped }: FeedLinesProps) {
  if (shown === "skipped") {
    return (
      <DataTable
        caption="Skipped"
        columns={SKIPPED_COLUMNS}
        rows={skipped}
        getRowId={toSkippedId}
        body={skipped.length > VIRTUAL_ROWS ? LateVirtualBody : undefined}
        stickyHeader
        className={HEIGHT}
        empty={<Nothing />}
      />
    );
  }
  const rows = diff.lines.filter(({ kind }) => kind === shown);
  return (
    <DataTable
      // Another kind has other columns, and its own order.
      key={shown}
      caption={`${shown} prices, per million`}
      columns={COLUMNS[shown]}
      rows={rows}
      getRowId={toId}
      body={rows.length > VIRTUAL_ROWS ? LateVirtualBody : undefined}
      stickyHeader
      className={HEIGHT}
      empty={<Nothing />}
    />
  );
}

function Nothing() {
  return <p className="px-4 py-6 text-center text-ink-soft">None.</p>;
}

const NAME: Column<FeedLine> = {
  id: "name",
  header: "Model",
  rowHeader: true,
  width: "w-64",
  sortValue: ({ entry }) => entry.name,
  cell: ({ entry, isUsed }) => (
    <span className="flex min-w-0 items-center gap-2">
      <span className="truncate" title={entry.name}>
        {entry.name}
      </span>
      {!isUsed && (
        <Badge title="Not an alias or upstream name, and not called in the last 30 days">not in use</Badge>
      )}
    </span>
  ),
};
const UNIT: Column<FeedLine> = {
  id: "unit",
  header: "Unit",
  width: "w-52",
  sortValue: ({ entry }) => `${UNIT_TABLE[entry.unit].label} ${toWords(entry)}`,
  cell: ({ entry }) => (
    <>
      {UNIT_TABLE[entry.unit].label}
      {entry.when !== undefined && <span className="block text-xs text-ink-soft">{toWords(entry)}</span>}
    </>
  ),
};

function toWords({ when }: FeedLine["entry"]): string {
  return when === undefined ? "" : toConditionWords(when);
}
const OLD: Column<FeedLine> = {
  id: "old",
  header: "Now",
  headerTitle: "Per million units",
  width: "w-28",
  align: "end",
  sortValue: ({ oldPerMillion }) => oldPerMillion,
  cell: ({ oldPerMillion, oldVersion }) =>
    oldPerMillion !== null && (
      <span title={oldVersion === null ? "Set with the model" : `From ${oldVersion}`}>
        {formatMoneyExact(oldPerMillion)}
      </span>
    ),
};
const NEW: Column<FeedLine> = {
  id: "new",
  header: "New",
  headerTitle: "Per million units",
  width: "w-28",
  align: "end",
  sortValue: ({ newPerMillion }) => newPerMillion,
  cell: ({ newPerMillion }) => <span className="font-medium">{formatMoneyExact(newPerMillion)}</span>,
};
const CHANGE: Column<FeedLine> = {
  id: "change",
  header: "Change",
  width: "w-24",
  align: "end",
  sortValue: ({ ratio }) => ratio,
  cell: ({ ratio }) => (ratio === null ? "from free" : formatChange(ratio)),
};

const COLUMNS = {
  changed: [NAME, UNIT, OLD, NEW, CHANGE],
  added: [NAME, UNIT, { ...NEW, header: "Price" }],
  unchanged: [NAME, UNIT, { ...NEW, header: "Price" }],
} as const satisfies Record<LineKind, readonly Column<FeedLine>[]>;

const SKIPPED_COLUMNS: readonly Column<SkippedPrice>[] = [
  textColumn({ id: "name", header: "Model", rowHeader: true, width: "w-64", value: ({ name }) => name }),
  textColumn({ id: "reason", header: "Why", width: "w-96", value: ({ reason }) => reason }),
];

function toId({ id }: FeedLine): string {
  return id;
}

function toSkippedId({ name, reason }: SkippedPrice): string {
  return `${name}\n${reason}`;
}
