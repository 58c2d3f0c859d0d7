import type { ReportNotes } from "../api/reports.ts";
import { classNames } from "../components/class-names.ts";
import { formatInstant } from "../text/format.ts";

export interface CountedWindowProps {
  readonly notes: ReportNotes | undefined;
  /** Its distance to what stands around it. */
  readonly className?: string | undefined;
}

/** Says which time was counted where it is not the one that was asked for. */
export function CountedWindow({ notes, className = "mb-4" }: CountedWindowProps) {
  const counted = notes?.countedWindow ?? null;
  if (counted === null) return null;
  const [since, until] = [formatInstant(counted.since, "minute"), formatInstant(counted.until, "minute")];
  return (
    <p role="note" className={classNames("text-xs text-ink-soft", className)}>
      Counted from {since} to {until}: older requests are kept as sums only, which cannot be cut more finely.
    </p>
  );
}
