import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { UNITS, type Unit } from "#kernel/units.ts";
import type { ListedModel } from "../../api/models.ts";
import { teamSeriesQuery } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { canBePriced } from "../../catalog/price-set.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { buttonClass } from "../../components/button.tsx";
import { CapabilityChips } from "../../components/capability.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Money } from "../../components/money.tsx";
import { SidePanel } from "../../components/panel.tsx";
import { UNIT_LABEL } from "../../components/units.tsx";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";
import { hasSnippets, Snippets } from "../../snippets/snippets.tsx";
import { formatCount } from "../../text/format.ts";

export interface ModelPanelProps {
  readonly model: ListedModel;
  /** The names that lead to it. */
  readonly names: readonly string[];
  readonly onClose: () => void;
}

/** One model: what it can do, what it costs, how it is called, and how much it was used. */
export function ModelPanel({ model, names, onClose }: ModelPanelProps) {
  const { role } = useMe();
  const canChat = model.capabilities.includes("chat");
  return (
    <SidePanel
      open
      onOpenChange={(open) => !open && onClose()}
      title={model.id}
      description={
        model.alias_of === null
          ? `Served by ${model.owned_by}`
          : `A name for ${model.alias_of}, served by ${model.owned_by}`
      }
      footer={
        <>
          {role === "admin" && (
            <Link to="/catalogue" search={{ q: model.id }} className={buttonClass({ variant: "ghost" })}>
              Change in the catalogue
            </Link>
          )}
          <Link to="/requests" search={{ model: model.id, range: "30d" }} className={buttonClass()}>
            Requests
          </Link>
          {canChat && (
            <Link
              to="/playground"
              search={{ model: model.id }}
              className={buttonClass({ variant: "primary" })}
            >
              Try it
            </Link>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-6">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <CapabilityChips capabilities={model.capabilities} />
          <CopyButton text={model.id} label="Copy the name" />
        </div>
        <Section title="Prices per million">
          <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1">
            {UNITS.map((unit) => (
              <div key={unit} className="contents">
                <dt className="text-ink-soft">{UNIT_LABEL[unit]}</dt>
                <dd className="text-right">
                  <Price model={model} unit={unit} />
                </dd>
              </div>
            ))}
          </dl>
          {model.pricing_inherited === true && (
            <p className="mt-2 text-xs text-ink-soft">
              At least one of them is inherited: it is kept under{" "}
              {model.alias_of === null ? "the provider's own name for the model" : "another name"}.
            </p>
          )}
        </Section>
        {names.length > 0 && (
          <Section title="Names for it">
            <p className="break-words">{names.join(", ")}</p>
          </Section>
        )}
        <Usage model={model.id} />
        <Section title="Call it">
          {hasSnippets(model.capabilities) ? (
            <Snippets kind="openai" model={model.id} capabilities={model.capabilities} />
          ) : (
            <p className="text-ink-soft">None of the examples here calls what this model can do.</p>
          )}
        </Section>
      </div>
    </SidePanel>
  );
}

interface PriceProps {
  readonly model: ListedModel;
  readonly unit: Unit;
}

/** Unpriced is said quietly of what such a model hardly ever uses. */
function Price({ model, unit }: PriceProps) {
  const price = model.pricing?.[unit] ?? null;
  if (price === null && !canBePriced(model, unit)) return <span className="text-ink-faint">unpriced</span>;
  return <Money value={price} />;
}

function Usage({ model }: { readonly model: string }) {
  const { since } = toTimeWindow({}, "30d", useMinute());
  const series = useQuery(teamSeriesQuery({ model, since, bucket: "day" }));
  const buckets = series.data?.series ?? [];
  // Without the failures, as the list counts.
  const values = buckets.map(({ requests, failed }) => requests - failed);
  const total = values.reduce((sum, requests) => sum + requests, 0);
  const failed = buckets.reduce((sum, bucket) => sum + bucket.failed, 0);
  return (
    <Section title="Requests in 30 days (UTC days)">
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

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-2 text-xs font-medium text-ink-faint">{title}</h3>
      {children}
    </section>
  );
}
