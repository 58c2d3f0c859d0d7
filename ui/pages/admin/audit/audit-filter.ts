import type { AuditEvent } from "../../../api/people.ts";
import type { AuditSearch } from "../../../search/pages.ts";
import { formatInZone, type TimeZone } from "../../../text/time-zone.ts";

/** What stands for an actor whose principal is gone. */
const DELETED_ACTOR = "(deleted principal)";

export function toActorName(event: AuditEvent): string {
  return event.actor ?? DELETED_ACTOR;
}

/**
 * Whether an event is what the address asks for. `target` is found anywhere in what the event kept of it, and in `label`,
 * which is what the page calls it while it is there; whatever the case.
 */
export function matchesAudit(event: AuditEvent, label: string | undefined, search: AuditSearch): boolean {
  const { action, actor, target } = search;
  if (action !== undefined && event.action !== action) return false;
  if (actor !== undefined && toActorName(event) !== actor) return false;
  if (target === undefined) return true;
  const wanted = target.toLowerCase();
  return [event.target_ref, label].some((text) => text?.toLowerCase().includes(wanted) === true);
}

export function countAuditFilters({ action, actor, target }: AuditSearch): number {
  return [action, actor, target].filter((value) => value !== undefined).length;
}

/** Who acted, once each, by name. */
export function toActors(events: readonly AuditEvent[]): readonly string[] {
  return [...new Set(events.map(toActorName))].sort();
}

/** Several events of one change have one instant, and differ in what they are about. */
export function toEventId({ ts, action, target_ref: ref }: AuditEvent): string {
  return `${ts} ${action} ${ref}`;
}

export interface AuditDay {
  /** `2026-01-31`. */
  readonly day: string;
  /** `UTC`, or what the browser calls its own. */
  readonly zone: string;
  readonly events: readonly AuditEvent[];
}

/** Events in their order, cut where the day of the zone changes, or the zone between summer and winter. */
export function toAuditDays(events: readonly AuditEvent[], zone: TimeZone): readonly AuditDay[] {
  const days = new Map<string, AuditEvent[]>();
  for (const event of events) {
    const day = formatInZone(event.ts, "date", zone);
    const known = days.get(day);
    if (known === undefined) days.set(day, [event]);
    else known.push(event);
  }
  return [...days].map(([text, ofDay]) => {
    const [day = "", ...name] = text.split(" ");
    return { day, zone: name.join(" "), events: ofDay };
  });
}
