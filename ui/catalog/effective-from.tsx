import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "../components/button.tsx";
import { Segmented } from "../components/segmented.tsx";
import { TextField } from "../components/text-field.tsx";
import type { FieldBinding } from "../form/use-form.ts";
import { REQUIRED } from "../form/terms.ts";
import { parseInstantMs, toIso } from "../search/window.ts";
import { formatCounted, formatInstant } from "../text/format.ts";

/** Since when a price holds, as it stands in a form: from now on where it is null, else a date as it was typed. */
export type EffectiveFrom = string | null;

const WAYS = [
  { value: "now", label: "From now" },
  { value: "date", label: "From a date" },
] as const;

/** Since when the prices of a form hold. */
export function EffectiveFromField({
  value,
  onValueChange,
  ...field
}: FieldBinding<EffectiveFrom>): ReactNode {
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-xs font-medium" aria-hidden>
          Holds
        </span>
        <Segmented
          label="Holds"
          options={WAYS}
          value={value === null ? "now" : "date"}
          onValueChange={(way) => onValueChange(way === "now" ? null : "")}
        />
      </div>
      {value !== null && (
        <TextField
          {...field}
          label="Date (UTC)"
          placeholder="2027-01-01 12:00"
          hint="One to come takes force by itself. One that is past changes no recorded request: those can be re-priced."
          autoFocus
          value={value}
          onValueChange={onValueChange}
        />
      )}
    </div>
  );
}

export function findDateFault(value: EffectiveFrom): string | undefined {
  if (value === null) return undefined;
  if (value.trim() === "") return REQUIRED;
  return parseInstantMs(value) === null
    ? "Enter a date, or a date and time, in UTC such as 2027-01-01 or 2027-01-01 12:00"
    : undefined;
}

/** The field of a write of prices. */
export function toEffectiveFrom(value: EffectiveFrom): { readonly effective_from?: string } {
  return value === null ? {} : { effective_from: value.trim() };
}

/** What a write of prices answered, as far as dates go. */
export interface DatedAnswer {
  readonly repriceable_requests?: number | undefined;
}

/** Whether prices that were written with this date hold later. */
export function isToCome(effectiveFrom: string | undefined): boolean {
  return effectiveFrom !== undefined && (parseInstantMs(effectiveFrom) ?? 0) > Date.now();
}

/** When prices apply that were written with this date. */
export function toAppliesWords(effectiveFrom: string | undefined): string {
  if (effectiveFrom === undefined || !isToCome(effectiveFrom)) return "Applies from the next request.";
  const atMs = parseInstantMs(effectiveFrom) ?? Number.NaN;
  return `Prices apply from ${formatInstant(toIso(atMs), "minute")} on.`;
}

/** Requests that a price which was dated back has not changed. */
export interface LateRequests {
  readonly model: string;
  readonly since: string;
  readonly requests: number;
}

/** Null: the price is not dated back, or no request was recorded since. */
export function toLateRequests(
  model: string,
  effectiveFrom: string | undefined,
  { repriceable_requests: requests = 0 }: DatedAnswer,
): LateRequests | null {
  return effectiveFrom === undefined || requests === 0 ? null : { model, since: effectiveFrom, requests };
}

/** What the address of a re-pricing of these requests asks for. */
export function toRepricingSearch({ model, since }: LateRequests) {
  return { plan: "1", of: [model], since, at: "history" } as const;
}

export function toLateWords({ requests, since }: LateRequests): string {
  return `${formatCounted(requests, "request")} since ${since} (UTC) ${requests === 1 ? "keeps" : "keep"} what ${requests === 1 ? "it was" : "they were"} recorded with.`;
}

/** Leads on from a price that was dated back to the requests of before. */
export function LateNote({ late }: { readonly late: LateRequests }): ReactNode {
  return (
    <div role="status" className="flex flex-wrap items-center gap-3 rounded-card bg-warn-soft p-3">
      <p className="min-w-0 flex-1">{toLateWords(late)}</p>
      <Link to="/models/repricing" search={toRepricingSearch(late)} className={buttonClass({ size: "sm" })}>
        Re-price them…
      </Link>
    </div>
  );
}
