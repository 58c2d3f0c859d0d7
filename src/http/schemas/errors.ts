import { Type } from "@sinclair/typebox";
import { BUCKETS } from "#stats/bucket.ts";
import { CLIENT_CHANGE_RULE } from "#stats/client-changes.ts";
import { DURATION_BANDS } from "#stats/errors.ts";
import { OUTCOMES } from "#usage/event.ts";
import { Failure } from "./reports.ts";
import { Cost, Count, eachOf, fields, Id, Instant, nullable, oneOf, Tags, view } from "./shared.ts";

/** Wire shapes of reports on failures. */

/** The answer of `GET /stats/errors`. */
export const ErrorsReport = view("ErrorsReport", {
  bucket: oneOf(BUCKETS),
  series: Type.Array(
    fields({
      start: Instant,
      ok: Count,
      upstream_error: Count,
      unreachable: Count,
      cancelled: Count,
    }),
  ),
  breakdown: Type.Array(
    fields({
      provider: Type.String(),
      model: nullable(Type.String()),
      endpoint: Type.String(),
      client: nullable(Type.String()),
      tags: Tags,
      outcome: oneOf(OUTCOMES),
      error_kind: nullable(Type.String()),
      failure: Failure,
      status_code: Type.Integer(),
      requests: Count,
      avg_duration_ms: Type.Number({ minimum: 0 }),
      last_seen: Instant,
      bands: eachOf(DURATION_BANDS, Count),
    }),
  ),
});

const { requestsMin, failedMin, differenceMin, daysMin } = CLIENT_CHANGE_RULE;
const share = Type.Number({ minimum: 0, maximum: 1 });
const side = { requests: Count, failed: Count, share };

/** The answer of `GET /stats/errors/clients`. */
export const ClientChanges = view("ClientChanges", {
  since: nullable(Instant),
  until: Instant,
  clients: Type.Array(
    fields({
      client: Type.String({
        description: "The beginning of its User-Agents, up to the version: what `client_version` filters by.",
      }),
      name: Type.String(),
      version: nullable(Type.String({ description: "Null where the User-Agent has none." })),
      since: Type.String({
        format: "date",
        description: "The UTC day from which on more of its requests fail.",
      }),
      now: fields(side),
      before: fields({
        of: oneOf(["version", "client"], {
          description:
            "`version`: its own days of before. `client`: it was never better, and these are the client's other versions, of the days before it was first seen.",
        }),
        ...side,
      }),
      elsewhere: Type.Object(side, {
        additionalProperties: false,
        description:
          "All other clients since that day: where as much of theirs fails, the cause is no client.",
      }),
    }),
    {
      description: `The most failures beyond the former share first. Both sides have at least ${requestsMin} requests, and since then at least ${failedMin} fail, ${differenceMin * 100} points more of the requests than before and more than chance explains. Cancelled requests count as neither.`,
    },
  ),
});

export const CLIENT_CHANGES_TEXT = `Whole days, at least the ${daysMin} before \`until\`, since what fails now has mostly begun before. Of the whole team for admins, of a member its own.`;

/** The answer of `GET /stats/errors/retries`. */
export const RetryStorms = view("RetryStorms", {
  storms: Type.Array(
    fields({
      principal: Type.String(),
      key_id: nullable(Id),
      key_label: nullable(Type.String({ description: "Null where the key is gone, or there was none." })),
      relay_token_id: nullable(Id),
      model: nullable(Type.String()),
      client: nullable(Type.String()),
      attempts: Count,
      failed: Type.Integer({
        minimum: 0,
        description: "One less than the attempts where the last one succeeded.",
      }),
      input_tokens: nullable(
        Type.Number({
          description: "Of the whole prompt; null where no attempt told it, as few failures do.",
        }),
      ),
      cost: Cost,
      first_at: Instant,
      last_at: Instant,
    }),
    { description: "The most attempts first." },
  ),
  total: fields({ storms: Count, attempts: Count, cost: Cost }),
});
