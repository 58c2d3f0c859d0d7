import { getRouteApi } from "@tanstack/react-router";
import { AUDIT_ACTIONS } from "#audit/event.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { TextField } from "../../components/text-field.tsx";
import type { AuditSearch } from "../../search/pages.ts";
import { SetupLink } from "../../setup/setup-link.tsx";
import { formatCount } from "../../text/format.ts";
import { formatInZone, useTimeZone } from "../../text/time-zone.ts";
import { countAuditFilters, toActors } from "./audit/audit-filter.ts";
import { Timeline } from "./audit/timeline.tsx";
import { useAuditEvents } from "./audit/use-audit-events.ts";

const route = getRouteApi("/shell/admin/audit");

/** Who changed what, newest first; the server keeps identifiers only, and so does this page. */
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

const ANY = "any";

/** By action, by actor, by part of the target's name. */
function AuditFilters({ search, actors, onChange }: AuditFiltersProps) {
  const known =
    search.actor === undefined || actors.includes(search.actor) ? actors : [search.actor, ...actors];
  return (
    <div role="search" aria-label="Filters" className="mb-4 grid gap-2 sm:grid-cols-3 lg:max-w-3xl">
      <SelectField
        label="Action"
        value={search.action ?? ANY}
        options={[
          { value: ANY, label: "Any action" },
          ...AUDIT_ACTIONS.map((action) => ({ value: action, label: action })),
        ]}
        onValueChange={(action: string) => onChange({ action: action === ANY ? undefined : action })}
      />
      <SelectField
        label="Actor"
        value={search.actor ?? ANY}
        options={[
          { value: ANY, label: "Any actor" },
          ...known.map((actor) => ({ value: actor, label: actor })),
        ]}
        onValueChange={(actor: string) => onChange({ actor: actor === ANY ? undefined : actor })}
      />
      <TextField
        label="Target contains"
        type="search"
        icon="search"
        placeholder="Name or id"
        isPageFilter
        value={search.target ?? ""}
        // Each letter would be a step back otherwise.
        onValueChange={(target) =>
          onChange({ target: target === "" ? undefined : target }, { replace: true })
        }
      />
    </div>
  );
}
