import { ALIAS_LENGTH_MAX, UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import type { Model, Provider } from "../../../api/catalog.ts";
import { SwitchField } from "../../../components/choice-field.tsx";
import { ComboField } from "../../../components/combo-field.tsx";
import { toFieldError } from "../../../components/field-frame.tsx";
import { Segmented } from "../../../components/segmented.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { CapabilityPicker } from "../../../catalog/capability-picker.tsx";
import type { ModelForm } from "./model-form.ts";
import { PriceInputs } from "../../../catalog/price-inputs.tsx";

export interface ModelFieldsProps {
  readonly form: ModelForm;
  readonly onChange: (change: Partial<ModelForm>) => void;
  readonly onKindChange: (kind: ModelForm["kind"]) => void;
  /** All models: a name leads to one of them. */
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  /** The model itself, which cannot be its own target; null while it is being made. */
  readonly alias: string | null;
  /** Why it has to stay as it is, when it has to: names lead to it. */
  readonly kindNote?: string | undefined;
  readonly pricesNote?: string | undefined;
  /** Prices are not known, so that a write could lose some. */
  readonly withoutPrices?: boolean | undefined;
  /** The error of the last try to save. */
  readonly failure: Error | null;
}

const KINDS = [
  { value: "binding", label: "Routes to a provider" },
  { value: "name", label: "Name for another model" },
] as const;

/** Every field of a model. */
export function ModelFields(props: ModelFieldsProps) {
  const { form, onChange, failure, models } = props;
  const target = form.kind === "name" ? models.find(({ alias }) => alias === form.target.trim()) : undefined;
  return (
    <>
      <div className="flex flex-col gap-1.5">
        <span className="text-xs font-medium" aria-hidden>
          Kind
        </span>
        {props.kindNote === undefined ? (
          <div className="self-start">
            <Segmented label="Kind" options={KINDS} value={form.kind} onValueChange={props.onKindChange} />
          </div>
        ) : (
          <p className="text-xs text-ink-soft">{props.kindNote}</p>
        )}
      </div>
      <TextField
        label="Alias"
        mono
        required={form.kind === "name" || props.alias !== null}
        lengthMax={ALIAS_LENGTH_MAX}
        placeholder={form.kind === "binding" ? form.upstreamName : ""}
        hint={
          props.alias === null
            ? "The name that callers use. Empty: the upstream name."
            : "A renamed model keeps its prices and other names. The old name stops working immediately."
        }
        value={form.alias}
        error={toFieldError(failure, "alias")}
        onValueChange={(alias) => onChange({ alias })}
      />
      {form.kind === "name" ? <TargetField {...props} /> : <BindingFields {...props} />}
      <section aria-label="Prices" className="flex flex-col gap-2">
        <h3 className="text-xs font-medium">Prices</h3>
        <p className="text-xs text-ink-soft">{props.pricesNote ?? toPricesNote(form.kind)}</p>
        {props.withoutPrices !== true && (
          <PriceInputs
            prices={form.prices}
            inherited={target?.pricing}
            failure={failure}
            onChange={(prices) => onChange({ prices })}
          />
        )}
      </section>
      <SwitchField
        label="Listed"
        hint="A hidden model can still be called by name. Other names of it are listed separately."
        checked={!form.hidden}
        onCheckedChange={(listed) => onChange({ hidden: !listed })}
      />
    </>
  );
}

function toPricesNote(kind: ModelForm["kind"]): string {
  return kind === "name"
    ? "Own prices override the prices of the target, unit by unit."
    : "A unit without a price is recorded as unpriced.";
}

function TargetField({ form, onChange, models, alias, failure }: ModelFieldsProps) {
  return (
    <ComboField
      label="Target"
      required
      mono
      hint="A model that routes to a provider. Provider, capabilities and prices are inherited."
      options={models
        .filter((model) => model.target === null && model.alias !== alias)
        .map((model) => ({ value: model.alias, detail: model.provider }))}
      noneText="No such model routes to a provider"
      value={form.target}
      error={toFieldError(failure, "target")}
      onValueChange={(target) => onChange({ target })}
    />
  );
}

function BindingFields({ form, onChange, providers, failure }: ModelFieldsProps) {
  return (
    <>
      <div className="grid gap-4">
        <SelectField
          label="Provider"
          required
          placeholder="Choose a provider"
          options={providers.map(({ name, enabled }) => ({
            value: name,
            label: name,
            detail: enabled ? undefined : "disabled",
          }))}
          value={form.provider === "" ? null : form.provider}
          error={toFieldError(failure, "provider")}
          onValueChange={(provider: string) => onChange({ provider })}
        />
        <TextField
          label="Upstream name"
          hint="The provider's name for the model"
          required
          mono
          lengthMax={UPSTREAM_NAME_LENGTH_MAX}
          value={form.upstreamName}
          error={toFieldError(failure, "upstream_name")}
          onValueChange={(upstreamName) => onChange({ upstreamName })}
        />
      </div>
      <CapabilityPicker
        capabilities={form.capabilities}
        error={toFieldError(failure, "capabilities")}
        onChange={(capabilities) => onChange({ capabilities })}
      />
    </>
  );
}
