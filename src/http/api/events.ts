import { Elysia } from "elysia";
import type { AuditStore } from "#audit/store.ts";
import type { Guard } from "#http/door/guard.ts";
import { pageView } from "#http/door/paging.ts";
import { toAdminEventView } from "#views/identity.ts";
import { parsePage } from "#kernel/page.ts";

/** Audit events, newest first (specification, sections 2.11 and 4.6). */
export function eventRoutes(guard: Guard, audit: AuditStore) {
  return new Elysia({ prefix: "/admin/v1" }).use(guard).get(
    "/events",
    async ({ query }) => {
      const page = parsePage(query);
      const { rows, total } = await audit.listEvents(page);
      return { events: rows.map(toAdminEventView), ...pageView(page, total) };
    },
    { access: "admin" },
  );
}
