import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { teamSeriesQuery } from "../../api/reports.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { buttonClass } from "../../components/button.tsx";
import { BuiltInToolsNote } from "../../components/capability.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";
import { hasSnippets, Snippets } from "../../snippets/snippets.tsx";
import { formatCount } from "../../text/format.ts";
import type { PublicModel } from "./model-row.ts";

/** Leads from the panel of a model to its requests and to the playground. */
export function ModelLinks({ model: { alias, capabilities } }: { readonly model: PublicModel }) {
  return (
    <>
      <Link to="/requests" search={{ model: alias, range: "30d" }} className={buttonClass()}>
        Requests
      </Link>
      {(capabilities.includes("chat") || capabilities.includes("responses")) && (
        <Link to="/playground" search={{ model: alias }} className={buttonClass({ variant: "primary" })}>
          Try it
        </Link>
      )}
    </>
  );
}

/** Examples for each client that the model answers. */
export function ModelSnippets({ model: { alias, capabilities } }: { readonly model: PublicModel }) {
  return (
    <Section title="Call it">
      {hasSnippets(capabilities) ? (
        <Snippets kind="openai" model={alias} capabilities={capabilities} />
      ) : (
        <p className="text-ink-soft">There is no example for these capabilities.</p>
      )}
      <BuiltInToolsNote capabilities={capabilities} />
    </Section>
  );
}

/** Requests of the last 30 days, as the list counts them. */
export function ModelUsage({ model }: { readonly model: string }) {
  const { since } = toTimeWindow({}, "30d", useMinute());
  const series = useQuery(teamSeriesQuery({ model, since, bucket: "day" }));
  const buckets = series.data?.series ?? [];
  // Without the failures, as the list counts.
  const values = buckets.map(({ requests, failed }) => requests - failed);
  const total = values.reduce((sum, requests) => sum + requests, 0);
  const failed = buckets.reduce((sum, bucket) => sum + bucket.failed, 0);
  return (
    <Section title="Requests in 30 days (UTC)">
      {series.error !== null && series.data === undefined ? (
        <ErrorNotice compact failure={series.error} onRetry={() => void series.refetch()} />
      ) : (
        <div className="flex h-10 items-center gap-4">
          <span className="text-lg font-semibold">
            {series.data === undefined ? "…" : formatCount(total)}
          </span>
          {total > 0 && <Sparkline values={values} width={220} height={36} hasArea />}
          {failed > 0 && (
            <Link
              to="/errors"
              search={{ model, range: "30d" }}
              className="text-xs text-ink-soft underline underline-offset-2 hover:text-ink"
            >
              {formatCount(failed)} failed
            </Link>
          )}
        </div>
      )}
    </Section>
  );
}

/** A part of the panel under a heading. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-2 text-xs font-medium text-ink-faint">{title}</h3>
      {children}
    </section>
  );
}
