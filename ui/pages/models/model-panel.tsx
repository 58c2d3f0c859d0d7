import { isRareUnit, isReportUnit, UNITS, UNIT_TABLE, type Unit } from "#kernel/units.ts";
import { isPriceMissed } from "#catalog/missed-prices.ts";
import { CapabilityChips } from "../../components/capability.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { Cost } from "../../components/cost.tsx";
import { SidePanel } from "../../components/panel.tsx";
import { ModelLinks, ModelSnippets, ModelUsage, Section } from "./model-parts.tsx";
import type { ModelRow, PublicModel } from "./model-row.ts";

export interface ModelPanelProps {
  readonly row: ModelRow;
  readonly onClose: () => void;
}

/** Tells a member what a model can do, what it costs, how it is called, and how much it was used. */
export function ModelPanel({ row: { model, names }, onClose }: ModelPanelProps) {
  return (
    <SidePanel
      open
      onOpenChange={(open) => !open && onClose()}
      title={model.alias}
      description={
        model.target === null
          ? `Served by ${model.provider}`
          : `A name for ${model.target}, served by ${model.provider}`
      }
      footer={<ModelLinks model={model} />}
    >
      <div className="flex flex-col gap-6">
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
        {names.length > 0 && (
          <Section title="Other names">
            <p className="break-words">{names.join(", ")}</p>
          </Section>
        )}
        <ModelUsage model={model.alias} />
        <ModelSnippets model={model} />
      </div>
    </SidePanel>
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
