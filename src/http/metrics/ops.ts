import { Type } from "@sinclair/typebox";
import { json, route } from "#http/door/route.ts";
import { fields } from "#http/schemas/shared.ts";
import type { Operation } from "./operation.ts";

/** Operation, public: whether the process serves, and its figures. */
export function opsRoutes(operation: Operation) {
  return [
    route({
      method: "GET",
      path: "/healthz",
      tag: "Operation",
      access: "public",
      summary: "Whether the server serves",
      description:
        'On PostgreSQL 503 `{status: "unavailable"}` while the database has been away for longer than `PROXY_DATABASE_GRACE`: every request is refused then, until it is back; and while the server does not have the secret key of the database. `GET /metrics` answers all the same.',
      answer: json(200, fields({ status: Type.Literal("ok") }), { status: "ok" }),
      infallible: true,
      run: () => operation.toHealth(),
    }),
    route({
      method: "GET",
      path: "/metrics",
      tag: "Operation",
      access: "public",
      summary: "Metrics of the process, in text format 0.0.4",
      answer: {
        status: 200,
        description: "Metrics.",
        contents: [{ type: "text/plain", schema: Type.String() }],
      },
      run: () => operation.toMetrics(),
    }),
  ] as const;
}
