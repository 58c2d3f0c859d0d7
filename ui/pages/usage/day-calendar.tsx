import { useMemo } from "react";
import type { UsageBucket } from "../../api/reports.ts";
import { Calendar } from "../../charts/calendar.tsx";
import type { Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { toIso, toChosenSearch } from "../../search/window.ts";
import { MEASURE_FORMATS, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";

export interface DayCalendarProps {
  readonly report: Report;
  readonly measure: Measure;
  readonly since: string;
  readonly days: readonly UsageBucket[];
}

export function DayCalendar({ report, measure, since, days }: DayCalendarProps) {
  const cells = useMemo(
    () => days.map((day) => ({ start: day.start, value: toMeasured(day, measure), requests: day.requests })),
    [days, measure],
  );
  return (
    <Calendar
      days={cells}
      since={since}
      until={toIso(report.now)}
      label={`Your ${MEASURE_LABELS[measure].toLowerCase()} per day`}
      format={MEASURE_FORMATS[measure]}
      onDay={(start, end) => report.change(toChosenSearch(start, end))}
    />
  );
}
