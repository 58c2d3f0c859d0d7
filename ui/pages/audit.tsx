import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { AUDIT_ACTIONS } from "#audit/event.ts";
import { KEYS } from "../api/keys.ts";
import { type AuditEvent, fetchEvents } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Badge } from "../components/chip.tsx";
import { EmptyState } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Icon } from "../components/icon.tsx";
import { PageHead } from "../components/page-head.tsx";
import { SkeletonText } from "../components/skeleton.tsx";
import { FilterField, FindField } from "../lists/list-page.tsx";
import { ChangeDetails } from "./audit/change-details.tsx";
import { type FindTarget, type KnownTarget, useTargets } from "./audit/targets.ts";
import type { AuditSearch } from "../search/pages.ts";
import { SetupLink } from "../setup/setup-link.tsx";
import { formatCount, formatInstant } from "../text/format.ts";
import { formatInZone, type TimeZone, useTimeZone } from "../text/time-zone.ts";

const route = getRouteApi("/shell/admin/audit");

/** Who changed what, newest first, each field before and after but secrets. */
export function AuditPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (patch: AuditSearch, { replace = false } = {}) =>
    void navigate({ search: { ...search, ...patch }, resetScroll: false, replace });
  const zone = useTimeZone();
  const events = useAuditEvents(search);
  const { loaded, shown, total } = events;
  const filtered = countAuditFilters(search) > 0;

  return (
    <>
      <PageHead
        title="Audit"
        lead="Every change made through this page, the API or a command on the server."
      />
      <AuditFilters search={search} actors={toActors(loaded)} onChange={change} />
      {events.error !== null && <ErrorNotice failure={events.error} onRetry={events.retry} />}
      <Card flush>
        {events.isPending ? (
          <div className="p-4" aria-busy>
            <SkeletonText lines={12} />
          </div>
        ) : (
          <Timeline events={shown} findTarget={events.findTarget} />
        )}
        {!events.isPending && events.error === null && shown.length === 0 && !events.isSearching && (
          <EmptyState
            icon="audit"
            title={filtered ? "No event matches" : "No events yet"}
            body={
              filtered
                ? `Searched ${formatCount(loaded.length)} of ${formatCount(total)} events.`
                : "Adding a provider, a model or a key records the first event."
            }
            action={
              filtered ? (
                <Button onClick={() => change({ action: undefined, actor: undefined, target: undefined })}>
                  Clear filters
                </Button>
              ) : (
                <SetupLink />
              )
            }
          />
        )}
      </Card>
      <div className="mt-4 flex flex-wrap items-center gap-3 text-sm text-ink-soft">
        {total > 0 && (
          <p role="status">
            {filtered
              ? `${formatCount(shown.length)} of the newest ${formatCount(loaded.length)} events match`
              : `The newest ${formatCount(loaded.length)} events`}
            {loaded.length < total && `, of ${formatCount(total)}`}
            {events.reachesTo !== null && `, back to ${formatInZone(events.reachesTo, "minute", zone)}`}.
          </p>
        )}
        {events.hasOlder && (
          <Button busy={events.isFetchingOlder} onClick={events.fetchOlder}>
            Load older events
          </Button>
        )}
      </div>
    </>
  );
}

interface AuditFiltersProps {
  readonly search: AuditSearch;
  readonly actors: readonly string[];
  readonly onChange: (patch: AuditSearch, options?: { readonly replace?: boolean }) => void;
}

function toOption(value: string) {
  return { value, label: value };
}

/** By action, by actor, by part of the target's name. */
function AuditFilters({ search, actors, onChange }: AuditFiltersProps) {
  const known =
    search.actor === undefined || actors.includes(search.actor) ? actors : [search.actor, ...actors];
  return (
    <div role="search" aria-label="Filters" className="mb-4 grid gap-2 sm:grid-cols-3 lg:max-w-3xl">
      <FilterField<string>
        label="Action"
        all="Any action"
        options={AUDIT_ACTIONS.map(toOption)}
        value={search.action}
        onChange={(action) => onChange({ action })}
      />
      <FilterField
        label="Actor"
        all="Any actor"
        options={known.map(toOption)}
        value={search.actor}
        onChange={(actor) => onChange({ actor })}
      />
      <FindField
        label="Find"
        placeholder="Target, field or value"
        value={search.target}
        onChange={(target, options) => onChange({ target }, options)}
      />
    </div>
  );
}

interface TimelineProps {
  readonly events: readonly AuditEvent[];
  readonly findTarget: FindTarget;
}

/** The events under their days. */
function Timeline({ events, findTarget }: TimelineProps) {
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
              <EventRow
                key={toEventId(event)}
                event={event}
                time={formatInZone(event.ts, "time", zone).replace(` ${name}`, "")}
                target={findTarget(event.target_kind, toPresentRef(event))}
              />
            ))}
          </ol>
        </section>
      ))}
    </div>
  );
}

interface EventRowProps {
  readonly event: AuditEvent;
  readonly time: string;
  readonly target: KnownTarget | null;
}

/** One change in a line of words, which opens each field before and after. */
function EventRow({ event, time, target }: EventRowProps) {
  const [isOpen, setOpen] = useState(false);
  const { change } = event;
  const hasFields = change !== null && change.fields.length > 0;
  return (
    <li className="grid grid-cols-[5.5rem_minmax(0,1fr)] items-baseline gap-x-3 gap-y-0.5 px-4 py-2 text-sm sm:grid-cols-[5.5rem_8rem_10rem_minmax(0,1fr)] xl:grid-cols-[5.5rem_9rem_10rem_minmax(0,15rem)_minmax(0,1fr)]">
      <time
        dateTime={event.ts}
        title={formatInstant(event.ts, "full")}
        className="text-xs text-ink-faint tabular-nums"
      >
        {time}
      </time>
      <span className="truncate font-medium" title={event.actor_principal_id}>
        {toActorName(event)}
      </span>
      <span className="col-start-2 sm:col-start-auto">
        <Badge tone={toTone(event.action)}>{event.action}</Badge>
      </span>
      <span className="col-start-2 min-w-0 break-words sm:col-start-auto">
        <Target event={event} target={target} />
      </span>
      {hasFields && (
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="col-start-2 flex min-h-6 min-w-0 items-baseline gap-1 text-left text-ink-soft hover:text-ink sm:col-[2/-1] xl:col-[auto]"
        >
          <Icon name={isOpen ? "chevron-down" : "chevron-right"} size={12} className="self-center" />
          <span title={change.sentence} className={isOpen ? "min-w-0 break-words" : "min-w-0 truncate"}>
            {change.sentence}
          </span>
        </button>
      )}
      {hasFields && isOpen && <ChangeDetails event={event} target={target} />}
    </li>
  );
}

/** A model that was renamed by the event is there under its new name. */
function toPresentRef({ target_ref: ref, change }: AuditEvent): string {
  const alias = change?.fields.find(({ field }) => field === "alias")?.after;
  return typeof alias === "string" ? alias : ref;
}

const LINK_CLASS = "text-accent underline-offset-2 hover:underline";

/** What was changed: a link while it is there, and else what the event kept of it. */
function Target({ event, target }: { readonly event: AuditEvent; readonly target: KnownTarget | null }) {
  const { target_kind: kind, target_ref: ref } = event;
  if (target === null) {
    const label = event.change?.label ?? null;
    const isId = ["principal", "api_key", "relay_token", "limit"].includes(kind);
    return (
      <span
        className={isId && label === null ? "font-mono text-xs text-ink-soft" : "text-ink-soft"}
        title={`Deleted: ${ref}`}
      >
        {label ?? ref}
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

/** Events asked for at once. */
const EVENTS_A_PAGE = 250;
/** With a filter, older events are asked for by themselves until as many match … */
const MATCHES_WANTED = 50;
/** … or as many were looked through; further back it goes at the press of a button. */
const LOOKED_THROUGH_MAX = 5000;

/** What the filters match of the events so far; the server has no filters, so that they are looked through here. */
function useAuditEvents(search: AuditSearch) {
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey: [...KEYS.events, "timeline"],
      queryFn: ({ pageParam, signal }) => fetchEvents({ limit: EVENTS_A_PAGE, offset: pageParam }, signal),
      initialPageParam: 0,
      getNextPageParam: ({ total }, pages) => {
        const seen = pages.length * EVENTS_A_PAGE;
        return seen < total ? seen : undefined;
      },
    });
  const loaded = useMemo(() => toDistinct(data?.pages.flatMap(({ rows }) => rows) ?? []), [data]);
  const kinds = useMemo(() => new Set(loaded.map(({ target_kind: kind }) => kind)), [loaded]);
  const findTarget = useTargets(kinds);
  const shown = useMemo(
    () =>
      loaded.filter((event) =>
        matchesAudit(event, findTarget(event.target_kind, event.target_ref)?.label, search),
      ),
    [loaded, findTarget, search],
  );
  const isSearching =
    countAuditFilters(search) > 0 &&
    hasNextPage &&
    error === null &&
    shown.length < MATCHES_WANTED &&
    loaded.length < LOOKED_THROUGH_MAX;
  useEffect(() => {
    if (isSearching && !isFetchingNextPage) void fetchNextPage();
  }, [isSearching, isFetchingNextPage, fetchNextPage]);
  return {
    loaded,
    shown,
    findTarget,
    total: data?.pages.at(-1)?.total ?? 0,
    /** How far back they reach; null when there is none. */
    reachesTo: loaded.at(-1)?.ts ?? null,
    error,
    isPending,
    isSearching,
    hasOlder: hasNextPage,
    isFetchingOlder: isFetchingNextPage,
    fetchOlder: () => void fetchNextPage(),
    retry: () => void refetch(),
  };
}

/** A new event moves the others on: what was last on one page is then first on the next. */
function toDistinct(events: readonly AuditEvent[]): readonly AuditEvent[] {
  return [...new Map(events.map((event) => [toEventId(event), event])).values()];
}

/** What stands for an actor whose principal is gone. */
const DELETED_ACTOR = "(deleted principal)";

function toActorName(event: AuditEvent): string {
  return event.actor ?? DELETED_ACTOR;
}

/**
 * Whether an event is what the address asks for. `target` is found anywhere in what the event kept of it and of the change, and
 * in `label`, which is what the page calls it while it is there; whatever the case.
 */
function matchesAudit(event: AuditEvent, label: string | undefined, search: AuditSearch): boolean {
  const { action, actor, target } = search;
  if (action !== undefined && event.action !== action) return false;
  if (actor !== undefined && toActorName(event) !== actor) return false;
  if (target === undefined) return true;
  const wanted = target.toLowerCase();
  const fields = event.change?.fields.map(({ field }) => field) ?? [];
  const texts = [event.target_ref, label, event.change?.label, event.change?.sentence, ...fields];
  return texts.some((text) => text?.toLowerCase().includes(wanted) === true);
}

function countAuditFilters({ action, actor, target }: AuditSearch): number {
  return [action, actor, target].filter((value) => value !== undefined).length;
}

/** Who acted, once each, by name. */
function toActors(events: readonly AuditEvent[]): readonly string[] {
  return [...new Set(events.map(toActorName))].sort();
}

/** Several events of one change have one instant, and differ in what they are about. */
function toEventId({ ts, action, target_ref: ref }: AuditEvent): string {
  return `${ts} ${action} ${ref}`;
}

interface AuditDay {
  /** `2026-01-31`. */
  readonly day: string;
  /** `UTC`, or what the browser calls its own. */
  readonly zone: string;
  readonly events: readonly AuditEvent[];
}

/** Events in their order, cut where the day of the zone changes, or the zone between summer and winter. */
function toAuditDays(events: readonly AuditEvent[], zone: TimeZone): readonly AuditDay[] {
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
