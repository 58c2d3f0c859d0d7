import { Link } from "@tanstack/react-router";
import type { AuditEvent } from "../../../api/people.ts";
import { Badge } from "../../../components/chip.tsx";
import { formatInstant } from "../../../text/format.ts";
import { formatInZone, useTimeZone } from "../../../text/time-zone.ts";
import { toActorName, toAuditDays, toEventId } from "./audit-filter.ts";
import type { FindTarget, KnownTarget } from "./targets.ts";

export interface TimelineProps {
  readonly events: readonly AuditEvent[];
  readonly findTarget: FindTarget;
}

/** The events under their days. */
export function Timeline({ events, findTarget }: TimelineProps) {
  const zone = useTimeZone();
  return (
    <div>
      {toAuditDays(events, zone).map(({ day, zone: name, events: ofDay }) => (
        <section key={`${day} ${name}`} aria-label={`${day} ${name}`}>
          <h2 className="sticky top-0 max-lg:top-12 border-y border-line bg-sunken px-4 py-1.5 text-xs font-medium text-ink-soft first:border-t-0">
            {day} <span className="text-ink-faint">{name}</span>
          </h2>
          <ol className="divide-y divide-line">
            {ofDay.map((event) => (
              <li
                key={toEventId(event)}
                className="grid grid-cols-[5.5rem_minmax(0,1fr)] items-baseline gap-x-3 px-4 py-2 text-sm sm:grid-cols-[5.5rem_10rem_11rem_minmax(0,1fr)]"
              >
                <time
                  dateTime={event.ts}
                  title={formatInstant(event.ts, "full")}
                  className="text-xs text-ink-faint tabular-nums"
                >
                  {formatInZone(event.ts, "time", zone).replace(` ${name}`, "")}
                </time>
                <span className="truncate font-medium" title={event.actor_principal_id}>
                  {toActorName(event)}
                </span>
                <span className="col-start-2 sm:col-start-auto">
                  <Badge tone={toTone(event.action)}>{event.action}</Badge>
                </span>
                <span className="col-start-2 min-w-0 break-words sm:col-start-auto">
                  <Target event={event} target={findTarget(event.target_kind, event.target_ref)} />
                </span>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
  );
}

const LINK_CLASS = "text-accent underline-offset-2 hover:underline";

/** What was changed: a link while it is there, and else what the event kept of it. */
function Target({ event, target }: { readonly event: AuditEvent; readonly target: KnownTarget | null }) {
  const { target_kind: kind, target_ref: ref } = event;
  if (target === null) {
    const isId = ["principal", "api_key", "relay_token", "limit"].includes(kind);
    return (
      <span className={isId ? "font-mono text-xs text-ink-soft" : "text-ink-soft"} title="Deleted">
        {ref}
      </span>
    );
  }
  const { label, principalId } = target;
  switch (kind) {
    case "provider":
      return (
        <Link to="/providers" search={{ open: ref }} className={LINK_CLASS}>
          {label}
        </Link>
      );
    case "model":
      return (
        <Link to="/models" search={{ q: ref }} className={LINK_CLASS}>
          {label}
        </Link>
      );
    case "limit":
      return (
        <Link to="/limits" search={{ open: ref }} title={ref} className={LINK_CLASS}>
          {label}
        </Link>
      );
    case "pricing_feed":
      return (
        <Link to="/models/prices" search={{ q: ref }} className={LINK_CLASS}>
          {label}
        </Link>
      );
    default:
      if (principalId === null) return label;
      return (
        <Link to="/people" search={{ open: principalId }} title={ref} className={LINK_CLASS}>
          {label}
        </Link>
      );
  }
}

function toTone(action: string): "good" | "bad" | "neutral" {
  if (action.endsWith(".create") || action === "pricing.load") return "good";
  return action.endsWith(".delete") || action === "session.revoke" ? "bad" : "neutral";
}
