import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { ID, INSTANT, PAGE, PROVIDER } from "#http/schemas/examples.ts";
import { AdminEvent } from "#http/schemas/identity.ts";
import { pageOf } from "#http/schemas/shared.ts";
import type { AuditStore } from "#audit/store.ts";
import type { Guard } from "#http/door/guard.ts";
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
};

/** Audit events, newest first (specification, sections 2.11 and 4.6). */
export function eventRoutes(guard: Guard, audit: AuditStore) {
  return new Elysia({ prefix: "/admin/v1", tags: ["People"] }).use(guard).get(
    "/events",
    async ({ query }) => {
      const page = parsePage(query);
      const { rows, total } = await audit.listEvents(page);
      return { events: rows.map(toAdminEventView), ...pageView(page, total) };
    },
    route({
      access: "admin",
      summary: "What admins changed, newest first",
      query: PAGE_QUERY,
      answer: json(200, pageOf("events", AdminEvent), { events: [EVENT], ...PAGE }),
    }),
  );
}
