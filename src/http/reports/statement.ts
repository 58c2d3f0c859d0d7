import { Type } from "@sinclair/typebox";
import { negotiateFormat } from "#http/door/negotiation.ts";
import { route } from "#http/door/route.ts";
import { ID, INSTANT } from "#http/schemas/examples.ts";
import { StatementView } from "#http/schemas/reports.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import { parseMonth } from "#stats/month.ts";
import type { StatsStore } from "#stats/store.ts";
import { toStatementCsv, toStatementView } from "#views/statement.ts";
import { tableAnswer } from "./declared.ts";
import { queryOf, toReportHeaders, toReportOptions } from "./report.ts";

interface StatementDeps {
  readonly identity: Pick<IdentityStore, "keys">;
  readonly stats: Pick<StatsStore, "readStatement">;
  readonly clock: Clock;
}

const FIGURES = { requests: 12, unpriced_requests: 0, unmetered_requests: 1, cost: 0.0048 };

/** The account of a month (specification of money, section 6): of the whole team for admins, and else the caller's own. */
export function statementRoutes({ identity, stats, clock }: StatementDeps) {
  return [
    route({
      method: "GET",
      path: "/stats/statement",
      tag: "Statistics",
      access: "caller",
      summary: "The statement of a month by person, key and tag, with a hash over its usage",
      description:
        "Of the whole team for admins, of a member its own. Equal hashes are the same month: the same usage at the same costs. A request with several tags is in a row of each.",
      query: [
        {
          name: "month",
          schema: Type.String({ description: "`YYYY-MM`, UTC." }),
          description: "The present month when absent.",
          example: "2026-03",
        },
      ],
      answer: tableAnswer(StatementView, {
        month: "2026-03",
        hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        total: FIGURES,
        repricings: [{ state: "applied", changed_at: INSTANT }],
        rows: [{ by: "key", value: ID.aliceKey, label: "laptop", ...FIGURES }],
      }),
      errors: ["invalid_date", "range_too_large", "reports_busy"],
      run: async ({ request, caller }) => {
        const month = parseMonth(queryOf(request).get("month"), clock.nowUs());
        const { id, role } = caller.principal;
        const statement = await stats.readStatement(
          {
            window: { sinceUs: month.sinceUs, untilUs: month.untilUs },
            filter: filterBy({}),
            providers: EVERY_PROVIDER,
            principalId: role === "admin" ? null : id,
          },
          toReportOptions({ request, caller }),
        );
        const keyIds = statement.rows.flatMap(({ by, value }) => (by === "key" ? [value] : []));
        const names = await identity.keys.findNames(keyIds);
        const named = { month: month.name, statement, labelOf: (keyId: string) => names.get(keyId)?.label };
        const format = negotiateFormat(request.headers);
        const filename = `statement-${month.name}.csv`;
        const headers = toReportHeaders({ notes: statement, format, filename });
        const body = format === "csv" ? toStatementCsv(named) : JSON.stringify(toStatementView(named));
        return new Response(body, { headers });
      },
    }),
  ] as const;
}
