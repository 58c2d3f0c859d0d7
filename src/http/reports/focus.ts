import { Type } from "@sinclair/typebox";
import type { Catalog } from "#catalog/catalog.ts";
import { type BodyReader, WRITE_STALL_MS_MAX, createTee } from "#forward/tee.ts";
import { route } from "#http/door/route.ts";
import type { IdentityStore } from "#identity/store.ts";
import { Cancellation, createDeadlines } from "#kernel/cancellation.ts";
import { type Clock, DAY_US, type InstantUs } from "#kernel/clock.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import { toProviderName } from "#stats/grouping.ts";
import { listDays, parseMonth } from "#stats/month.ts";
import type { BilledUnit, StatsStore } from "#stats/store.ts";
import { CURRENCY_DEFAULT, FOCUS_HEADER, type FocusRow, parseCurrency, toFocusCsv } from "#views/focus.ts";
import { CSV } from "./declared.ts";
import { type Asking, queryOf, toReportContext, toReportHeaders, toReportOptions } from "./report.ts";

interface FocusDeps {
  readonly catalog: Catalog;
  readonly identity: Pick<IdentityStore, "keys">;
  readonly stats: Pick<StatsStore, "readBilledDay">;
  readonly clock: Clock;
  readonly log: Log;
}

/** The limit of one day: below the time after which the server closes a connection on which nothing moves. */
const DAY_MS_MAX = 60_000;

/** Costs for finance (specification of money, section 6): of the whole team for admins, and else the caller's own. */
export function focusRoutes({ catalog, identity, stats, clock, log }: FocusDeps) {
  const deadlines = createDeadlines(() => clock.monotonicMs());
  return [
    route({
      method: "GET",
      path: "/stats/focus",
      tag: "Statistics",
      access: "caller",
      summary: "The costs of a month as CSV in the columns of FOCUS",
      description:
        "FOCUS 1.4, the FinOps Open Cost and Usage Specification: one row for each day, model, unit, tier, region, person and key. Of the whole team for admins, of a member its own. What has no price has an empty cost, and `x_UnpricedReason` says why. Costs of a day add up to the ledger's, to the last digit. Where retention has removed rows, units have quantities only, and one row without a unit has their cost.",
      query: [
        {
          name: "month",
          schema: Type.String({ description: "`YYYY-MM`, UTC." }),
          description: "The present month when absent.",
          example: "2026-03",
        },
        {
          name: "currency",
          schema: Type.String({ default: CURRENCY_DEFAULT }),
          description: "ISO 4217: the currency that the prices are in, which is written and not converted.",
        },
      ],
      answer: { status: 200, description: "The rows.", contents: [CSV] },
      errors: ["invalid_date", "invalid_request", "range_too_large", "reports_busy"],
      run: async (asking) => {
        const query = queryOf(asking.request);
        const month = parseMonth(query.get("month"), clock.nowUs());
        const currency = parseCurrency(query.get("currency"));
        const headers = toReportHeaders({
          notes: { snapped: null, truncated: false },
          format: "csv",
          filename: `focus-${month.name}.csv`,
        });
        if (asking.request.method === "HEAD") return new Response(null, { headers });
        const body = await streamDays(asking, listDays(month, clock.nowUs()), async (dayUs, signal) => {
          const { rows } = await stats.readBilledDay(toDayQuery(asking, dayUs), {
            ...toReportOptions(asking),
            signal,
          });
          const day = { monthUs: month.sinceUs, monthEndUs: month.untilUs, dayUs, currency };
          return toFocusCsv(await joinNames(rows), day);
        });
        return new Response(body, { headers });
      },
    }),
  ] as const;

  /** Reads a day while the one before it is taken. The first is read before anything is sent: a refusal is then an answer of its own. */
  async function streamDays(
    { request }: Asking,
    days: readonly InstantUs[],
    readDay: (dayUs: InstantUs, signal: AbortSignal) => Promise<string>,
  ): Promise<ReadableStream<Uint8Array>> {
    const cancellation = new Cancellation(request, { limits: deadlines });
    const encoder = new TextEncoder();
    let next = 0;
    const readNext = async (): Promise<string | null> => {
      const dayUs = days[next];
      next += 1;
      return dayUs === undefined ? null : await readDay(dayUs, cancellation.signal);
    };
    const reader: BodyReader = {
      async read() {
        try {
          let text = await readNext();
          // A day without usage has no row, and an empty chunk would look like the end.
          while (text === "") text = await readNext();
          return text === null ? { done: true } : { done: false, value: encoder.encode(text) };
        } catch (cause) {
          if (cancellation.cause !== "cancelled") log.error("a FOCUS file broke off", describeCause(cause));
          throw cause;
        }
      },
      // The signal of the cancellation has told the reader of the ledger.
      cancel: () => Promise.resolve(),
    };
    try {
      return createTee({
        reader,
        first: encoder.encode(FOCUS_HEADER + ((await readNext()) ?? "")),
        cancellation,
        idleMs: DAY_MS_MAX,
        stallMs: WRITE_STALL_MS_MAX,
        watch: () => null,
        finish: () => Promise.resolve(),
      });
    } catch (cause) {
      cancellation.release();
      throw cause;
    }
  }

  async function joinNames(rows: readonly BilledUnit[]): Promise<readonly FocusRow[]> {
    if (rows.length === 0) return [];
    const context = toReportContext(await catalog.snapshot(), clock.nowUs());
    const names = await identity.keys.findNames([...new Set(rows.flatMap(({ keyId }) => keyId ?? []))]);
    return rows.map((billed) => ({
      billed,
      provider: toProviderName(billed.providerId, context),
      keyLabel: billed.keyId === null ? null : (names.get(billed.keyId)?.label ?? null),
    }));
  }
}

function toDayQuery({ caller }: Asking, dayUs: InstantUs) {
  const { id, role } = caller.principal;
  return {
    window: { sinceUs: dayUs, untilUs: dayUs + DAY_US },
    filter: filterBy({}),
    providers: EVERY_PROVIDER,
    principalId: role === "admin" ? null : id,
  };
}
