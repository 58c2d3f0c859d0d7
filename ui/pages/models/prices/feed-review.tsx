import { useMemo, useState } from "react";
import type { NamesInUse } from "#interchange/prices-in-use.ts";
import type { Pricing } from "../../../api/catalog.ts";
import { CheckboxField } from "../../../components/choice-field.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { Segmented } from "../../../components/segmented.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { formatCount } from "../../../text/format.ts";
import { toFeedDiff } from "./feed-diff.ts";
import type { FeedReading } from "./feed-file.ts";
import { FeedLines } from "./feed-lines.tsx";
import { FeedNotes, Problems } from "./feed-notes.tsx";
import { type LoadChoices, type LoadPlan, takeUsed, toUsedNames } from "./load-plan.ts";

export interface FeedReviewProps {
  readonly fileName: string;
  readonly reading: FeedReading;
  readonly plan: LoadPlan;
  readonly choices: LoadChoices;
  readonly onChoose: (choices: LoadChoices) => void;
  readonly kept: Pricing["entries"];
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
