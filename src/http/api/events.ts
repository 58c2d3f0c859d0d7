import { json, route } from "#http/door/route.ts";
import { ID, INSTANT, PAGE, PROVIDER } from "#http/schemas/examples.ts";
import { AdminEvent } from "#http/schemas/identity.ts";
import { pageOf } from "#http/schemas/shared.ts";
import type { AuditStore } from "#audit/event.ts";
import { PAGE_QUERY, pageView } from "#http/door/paging.ts";
import { toAdminEventView } from "#views/identity.ts";
import { parsePage } from "#kernel/page.ts";

const EVENT = {
  ts: INSTANT,
  actor_principal_id: ID.admin,
  actor: "admin",
  action: "provider.create",
  target_kind: "provider",
  target_ref: PROVIDER.name,
  change: {
    label: null,
    sentence: `base url ${PROVIDER.base_url}, api key set`,
    fields: [
      { field: "base_url", before: null, after: PROVIDER.base_url },
      { field: "api_key", before: null, after: "set", secret: true as const },
    ],
    omitted: 0,
  },
};

/** Audit events, newest first (specification, sections 2.11 and 4.6). */
export function eventRoutes(audit: AuditStore) {
  return [
    route({
      method: "GET",
      path: "/admin/v1/events",
      tag: "People",
      access: "admin",
      summary: "What admins changed, newest first",
      query: PAGE_QUERY,
      answer: json(200, pageOf("events", AdminEvent), { events: [EVENT], ...PAGE }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const { rows, total } = await audit.listEvents(page);
        return { events: rows.map(toAdminEventView), ...pageView(page, total) };
      },
    }),
  ] as const;
}
