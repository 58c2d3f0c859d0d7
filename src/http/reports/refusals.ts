import { Elysia } from "elysia";
import type { Guard } from "#http/door/guard.ts";
import type { Refusals } from "#http/door/refusals.ts";
import { json, route } from "#http/door/route.ts";
import { ID, INSTANT, MODEL } from "#http/schemas/examples.ts";
import { RecentRefusals } from "#http/schemas/reports.ts";
import { formatInstant } from "#kernel/clock.ts";
import { toRefusalView } from "#views/reports.ts";

/** What was refused lately: it leaves no usage event, and its caller is often not known. */
export function refusalRoutes(guard: Guard, refusals: Pick<Refusals, "newest" | "counts" | "startedAtUs">) {
  return new Elysia({ prefix: "/admin/v1", tags: ["Reports"] }).use(guard).get(
    "/refusals",
    () => ({
      since: formatInstant(refusals.startedAtUs),
      counts: Object.fromEntries(refusals.counts()),
      refusals: refusals.newest().map(toRefusalView),
    }),
    route({
      access: "admin",
      summary: "Requests that were refused, newest first",
      description:
        "Of the data plane, where they left no usage event, and wrong credentials anywhere: the newest 200 since the server started, and how many there were of each code. They are in memory only.",
      answer: json(200, RecentRefusals, {
        since: INSTANT,
        counts: { model_not_found: 1 },
        refusals: [
          {
            id: ID.request,
            at: INSTANT,
            code: "model_not_found",
            principal: "alice",
            key_suffix: "x7Yz",
            model: MODEL.alias,
            endpoint: "chat",
            client: "OpenAI/Python 2.1.0",
          },
        ],
      }),
    }),
  );
}
