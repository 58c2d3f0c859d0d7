import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isPriceMissed } from "#catalog/missed-prices.ts";
import { isRareUnit, isReportUnit, type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import { teamSeriesQuery } from "../../api/reports.ts";
import { VariantTable } from "../../catalog/variant-table.tsx";
import { Sparkline } from "../../charts/sparkline.tsx";
import { buttonClass } from "../../components/button.tsx";
import { BuiltInToolsNote, CapabilityChips } from "../../components/capability.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { Cost } from "../../components/cost.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { RowPanel, Section } from "../../lists/row-panel.tsx";
import type { ModelRow, PublicModel } from "./model-row.ts";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";
import { hasSnippets, Snippets } from "../../snippets/snippets.tsx";
import { formatCount } from "../../text/format.ts";

interface ModelPanelProps {
  readonly row: ModelRow;
  readonly onClose: () => void;
}

/** Tells a member what a model can do, what it costs, how it is called, and how much it was used. */
export function ModelPanel({ row: { model, names }, onClose }: ModelPanelProps) {
  return (
    <RowPanel
      rowId={model.alias}
      onClose={onClose}
      title={model.alias}
      description={
        model.target === null
          ? `Served by ${model.provider}`
          : `A name for ${model.target}, served by ${model.provider}`
      }
      footer={<ModelLinks model={model} />}
    >
      <div className="flex flex-wrap items-center justify-between gap-3">
        <CapabilityChips capabilities={model.capabilities} />
        <CopyButton text={model.alias} label="Copy the name" />
      </div>
      <Section title="Prices per million">
        <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1">
          {UNITS.filter((unit) => isShown(model, unit)).map((unit) => (
            <div key={unit} className="contents">
              <dt className="text-ink-soft">{UNIT_TABLE[unit].label}</dt>
              <dd className="text-right">
                <Price model={model} unit={unit} />
              </dd>
            </div>
          ))}
        </dl>
        {model.pricing_inherited && (
          <p className="mt-2 text-xs text-ink-soft">
            At least one price is inherited: it is kept under{" "}
            {model.target === null ? "the provider’s own name for the model" : "another name"}.
          </p>
        )}
      </Section>
      {model.price_variants !== undefined && (
        <Section title="Price variants">
          <VariantTable label="Prices by condition" variants={model.price_variants} />
        </Section>
      )}
      {names.length > 0 && (
        <Section title="Other names">
          <p className="break-words">{names.join(", ")}</p>
        </Section>
      )}
      <ModelUsage model={model.alias} />
      <ModelSnippets model={model} />
    </RowPanel>
  );
}

function isShown(model: PublicModel, unit: Unit): boolean {
  if (model.pricing[unit] !== undefined) return true;
  return isRareUnit(unit) ? isPriceMissed(model, unit) : isReportUnit(unit);
}

/** A unit that the model hardly ever uses is unpriced without a warning. */
function Price({ model, unit }: { readonly model: PublicModel; readonly unit: Unit }) {
  const price = model.pricing[unit] ?? null;
  if (price === null && !isPriceMissed(model, unit)) return <span className="text-ink-faint">unpriced</span>;
  return <Cost value={price} />;
}

/** Leads from the panel of a model to its requests, to what another one would have cost, and to the playground. */
export function ModelLinks({ model: { alias, capabilities } }: { readonly model: PublicModel }) {
  return (
    <>
      <Link
        to="/models/what-if"
        search={{ pair: [`${encodeURIComponent(alias)}>`] }}
        className={buttonClass()}
      >
        What if…
      </Link>
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
