import { Elysia } from "elysia";
import type { Guard } from "#http/door/guard.ts";
import { readyMade } from "#http/door/typed-response.ts";
import type { RequestPage } from "#http/schemas/reports.ts";
import { createRequestLog, type RequestLogDeps } from "./request-log.ts";

/** The request metadata log (specification, section 4.6): the same as `GET /stats/requests`. */
export function requestRoutes(guard: Guard, deps: RequestLogDeps) {
  const requestLog = createRequestLog(deps);
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .get("/requests", ({ request }) => requestLog.answer(request), {
      access: "admin",
      response: readyMade<typeof RequestPage>(),
    });
}
