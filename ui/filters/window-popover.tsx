import { useState, type SubmitEvent } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { Button } from "../components/button.tsx";
import type { OpenedProps } from "../components/on-demand.tsx";
import { Popover } from "../components/popover.tsx";
import { SelectField } from "../components/select-field.tsx";
import { TextField } from "../components/text-field.tsx";
import type { Report } from "../search/report.ts";
import {
  parseInstantMs,
  possibleBuckets,
  RANGE_LABELS,
  RANGES,
  spanMsOf,
  toChosenSearch,
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

/** The ranges that move along, two instants of one's own, and the bars. */
export function WindowPopover({ trigger, report }: WindowPopoverProps) {
  const [open, setOpen] = useState(true);
  const { window, change } = report;
  const span = spanMsOf(window, report.now);
  const buckets: readonly Bucket[] = span === null ? ["day", "week", "month"] : possibleBuckets(span);
  return (
    <Popover title="Window" open={open} onOpenChange={setOpen} trigger={trigger}>
      <div className="flex w-72 flex-col gap-4">
        <div className="grid grid-cols-2 gap-1" role="group" aria-label="Relative ranges">
          {RANGES.map((range) => (
            <Button
              key={range}
              variant={window.range === range ? "primary" : "ghost"}
              size="sm"
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

function ChosenWindow(props: ChosenWindowProps) {
  const [since, setSince] = useState(props.since ?? "");
  const [until, setUntil] = useState(props.until ?? "");
  const [tried, setTried] = useState(false);
  const isBad = (text: string) => text.trim() !== "" && parseInstantMs(text.trim()) === null;
  const errorOf = (text: string) =>
    tried && isBad(text) ? { error: "Enter a date such as 2026-01-31T08:00" } : {};
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTried(true);
    if (isBad(since) || isBad(until) || (since.trim() === "" && until.trim() === "")) return;
    props.onChoose(since.trim() || undefined, until.trim() || undefined);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2 border-t border-line pt-3" noValidate>
      <TextField
        label="From (UTC)"
        placeholder="2026-01-31T08:00"
        value={since}
        onValueChange={setSince}
        mono
        {...errorOf(since)}
      />
      <TextField
        label="Until, exclusive (UTC)"
        placeholder="now"
        value={until}
        onValueChange={setUntil}
        mono
        {...errorOf(until)}
      />
      <Button type="submit" size="sm">
        Apply
      </Button>
    </form>
  );
}
