import { useState, type SubmitEvent } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { Button } from "../components/button.tsx";
import type { OpenedProps } from "../components/on-demand.tsx";
import { Popover } from "../components/popover.tsx";
import { SelectField } from "../components/select-field.tsx";
import { TextField } from "../components/text-field.tsx";
import type { Report } from "../search/report.ts";
import { RANGE_GROUPS, RANGE_LABELS } from "../search/ranges.ts";
import {
  type DayBound,
  parseInstantMs,
  possibleBuckets,
  spanMsOf,
  toChosenSearch,
  toFirstDay,
  toLastDay,
  toSince,
  toUntil,
} from "../search/window.ts";

const BUCKET_LABELS: { readonly [bucket in Bucket]: string } = {
  hour: "By hour",
  day: "By day",
  week: "By week",
  month: "By month",
};

export interface WindowPopoverProps extends OpenedProps {
  readonly report: Report;
}

/** The ranges with a name, two bounds of one's own, and the bars. */
export function WindowPopover({ trigger, report }: WindowPopoverProps) {
  const [open, setOpen] = useState(true);
  const { window, change } = report;
  const span = spanMsOf(window, report.now);
  const buckets: readonly Bucket[] = span === null ? ["day", "week", "month"] : possibleBuckets(span);
  return (
    <Popover title="Window" open={open} onOpenChange={setOpen} trigger={trigger}>
      <div className="flex w-72 flex-col gap-4">
        <div className="grid grid-cols-2 gap-1">
          {RANGE_GROUPS.map(({ label, ranges }) => (
            <div key={label} role="group" aria-label={label} className="flex flex-col gap-1">
              {ranges.map((range) => (
                <Button
                  key={range}
                  variant={window.range === range ? "primary" : "ghost"}
                  size="sm"
                  className="justify-start"
                  aria-pressed={window.range === range}
                  onClick={() => {
                    change({ range, since: undefined, until: undefined, bucket: undefined });
                    setOpen(false);
                  }}
                >
                  {RANGE_LABELS[range]}
                </Button>
              ))}
            </div>
          ))}
        </div>
        <ChosenWindow
          key={`${window.since} ${window.until}`}
          since={window.range === null ? window.since : undefined}
          until={window.range === null ? window.until : undefined}
          onChoose={(since, until) => {
            change(toChosenSearch(since, until));
            setOpen(false);
          }}
        />
        <SelectField
          label="Bars"
          value={window.bucket}
          options={buckets.map((bucket) => ({ value: bucket, label: BUCKET_LABELS[bucket] }))}
          onValueChange={(value) => change({ bucket: buckets.find((bucket) => bucket === value) })}
        />
      </div>
    </Popover>
  );
}

interface ChosenWindowProps {
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly onChoose: (since: string | undefined, until: string | undefined) => void;
}

/** From a day to a day, both included; a time makes a bound exact. */
function ChosenWindow(props: ChosenWindowProps) {
  const [first, setFirst] = useState(toFirstDay(props.since));
  const [last, setLast] = useState(toLastDay(props.until));
  const [error, setError] = useState<string | null>(null);
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const [since, until] = [toSince(first), toUntil(last)];
    const problem = event.currentTarget.checkValidity() ? toProblem(since, until) : UNREADABLE;
    setError(problem);
    if (problem === null) props.onChoose(since, until);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2 border-t border-line pt-3" noValidate>
      <BoundFields label="From" bound={first} onChange={setFirst} />
      <BoundFields label="To" bound={last} onChange={setLast} error={error} />
      <p className="text-xs text-ink-faint">In UTC. Without a time, the last day counts to its end.</p>
      <Button type="submit" size="sm">
        Apply
      </Button>
    </form>
  );
}

const UNREADABLE = "Enter a whole date, such as 2026-01-31";

function toProblem(since: string | undefined, until: string | undefined): string | null {
  if (since === undefined && until === undefined) return "Enter the first or the last day";
  if (since === undefined || until === undefined) return null;
  const [sinceMs, untilMs] = [parseInstantMs(since), parseInstantMs(until)];
  if (sinceMs === null || untilMs === null) return UNREADABLE;
  return untilMs > sinceMs ? null : "The window ends before it begins";
}

interface BoundFieldsProps {
  readonly label: string;
  readonly bound: DayBound;
  readonly onChange: (bound: DayBound) => void;
  readonly error?: string | null;
}

function BoundFields({ label, bound, onChange, error }: BoundFieldsProps) {
  return (
    <div className="grid grid-cols-[1fr_6.5rem] gap-2">
      <TextField
        type="date"
        label={`${label} (UTC)`}
        value={bound.day}
        onValueChange={(day) => onChange({ ...bound, day })}
        error={error}
      />
      <TextField
        type="time"
        label={`${label}, time`}
        value={bound.time}
        onValueChange={(time) => onChange({ ...bound, time })}
      />
    </div>
  );
}
