import type { ReactNode } from "react";
import { ALIAS_LENGTH_MAX, UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { type Model, MODELS, type Provider } from "../../api/catalog.ts";
import { CapabilityPicker } from "../../catalog/capability-picker.tsx";
import { PriceInputs } from "../../catalog/price-inputs.tsx";
import { CheckboxField, SwitchField } from "../../components/choice-field.tsx";
import { ComboField } from "../../components/combo-field.tsx";
import { Segmented } from "../../components/segmented.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useToast } from "../../components/toast.tsx";
import { FormDialog } from "../../form/form.tsx";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { type Form, useForm } from "../../form/use-form.ts";
import { findMissing, type ModelForm, NEW_MODEL, toModelDraft } from "./model-form.ts";
import { VariantFields } from "./variants.tsx";

interface AddModelDialogProps {
  /** What is known of it already. */
  readonly begin: Partial<ModelForm>;
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly onClose: () => void;
}

/** Declares a model by hand, or a further name for one. */
export function AddModelDialog({ begin, models, providers, onClose }: AddModelDialogProps) {
  const { notify } = useToast();
  const only = providers.length === 1 ? providers[0]?.name : undefined;
  const form = useForm({
    name: "create-model",
    begin: { ...NEW_MODEL, provider: only ?? "", ...begin },
    terms: readTerms("ModelCreateRequest"),
    check: findMissing(true),
    change: MODELS.create,
    toAsked: toModelDraft,
    onSaved: ({ alias }) => {
      notify({ title: `${alias} added`, body: "It can be called now.", tone: "good" });
      onClose();
    },
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Add model"
      description="To add many at once, discover the models of a provider under Providers"
      submit="Add model"
      underWay="Adding…"
    >
      <ModelFields
        form={form}
        onKindChange={(kind) => form.set({ kind })}
        models={models}
        providers={providers}
        alias={null}
      />
    </FormDialog>
  );
}

interface ModelFieldsProps {
  readonly form: Form<ModelForm>;
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
  /** Stands below prices and variants. */
  readonly consequence?: ReactNode;
}

const KINDS = [
  { value: "binding", label: "Routes to a provider" },
  { value: "name", label: "Name for another model" },
] as const;

/** Every field of a model. */
export function ModelFields(props: ModelFieldsProps) {
  const { form, models } = props;
  const { values, set } = form;
  const target =
    values.kind === "name" ? models.find(({ alias }) => alias === values.target.trim()) : undefined;
  return (
    <>
      <div className="flex flex-col gap-1.5">
        <span className="text-xs font-medium" aria-hidden>
          Kind
        </span>
        {props.kindNote === undefined ? (
          <div className="self-start">
            <Segmented label="Kind" options={KINDS} value={values.kind} onValueChange={props.onKindChange} />
          </div>
        ) : (
          <p className="text-xs text-ink-soft">{props.kindNote}</p>
        )}
      </div>
      <TextField
        label="Alias"
        mono
        lengthMax={ALIAS_LENGTH_MAX}
        placeholder={values.kind === "binding" ? values.upstreamName : ""}
        hint={
          props.alias === null
            ? "The name that callers use. Empty: the upstream name."
            : "A renamed model keeps its prices and other names. The old name stops working immediately, unless it is kept."
        }
        {...form.field("alias")}
        required={values.kind === "name" || props.alias !== null}
      />
      {props.alias !== null && values.kind === "binding" && values.alias.trim() !== props.alias && (
        <CheckboxField
          label={`Keep ${props.alias} as another name`}
          hint="Requests for the old name go on working."
          checked={values.keepsName}
          onCheckedChange={(keepsName) => set({ keepsName })}
        />
      )}
      {values.kind === "name" ? <TargetField {...props} /> : <BindingFields {...props} />}
      <section aria-label="Prices" className="flex flex-col gap-2">
        <h3 className="text-xs font-medium">Prices</h3>
        <p className="text-xs text-ink-soft">{props.pricesNote ?? toPricesNote(values.kind)}</p>
        {props.withoutPrices !== true && (
          <PriceInputs
            prices={values.prices}
            capabilities={target?.capabilities ?? values.capabilities}
            inherited={target?.pricing}
            failure={form.failure}
            onChange={(prices) => set({ prices })}
          />
        )}
      </section>
      {props.withoutPrices !== true && (
        <VariantFields
          variants={values.variants}
          onChange={(variants) => set({ variants })}
          capabilities={target?.capabilities ?? values.capabilities}
          inherited={target?.price_variants ?? []}
          findError={(path) => form.findError("variants", path)}
          failure={form.failure}
        />
      )}
      {props.consequence}
      <SwitchField
        label="Listed"
        hint="A hidden model can still be called by name. Other names of it are listed separately."
        checked={!values.hidden}
        onCheckedChange={(listed) => set({ hidden: !listed })}
      />
    </>
  );
}

function toPricesNote(kind: ModelForm["kind"]): string {
  return kind === "name"
    ? "Own prices override the prices of the target, unit by unit."
    : "A unit without a price is recorded as unpriced.";
}

function TargetField({ form, models, alias }: ModelFieldsProps) {
  return (
    <ComboField
      label="Target"
      mono
      hint="A model that routes to a provider. Provider, capabilities and prices are inherited."
      options={models
        .filter((model) => model.target === null && model.alias !== alias)
        .map((model) => ({ value: model.alias, detail: model.provider }))}
      noneText="No such model routes to a provider"
      {...form.field("target")}
      required
    />
  );
}

function BindingFields({ form, providers }: ModelFieldsProps) {
  return (
    <>
      <div className="grid gap-4">
        <SelectField
          label="Provider"
          placeholder="Choose a provider"
          options={providers.map(({ name, enabled }) => ({
            value: name,
            label: name,
            detail: enabled ? undefined : "disabled",
          }))}
          {...form.field("provider")}
          required
          value={form.values.provider === "" ? null : form.values.provider}
        />
        <TextField
          label="Upstream name"
          hint="The provider's name for the model"
          mono
          lengthMax={UPSTREAM_NAME_LENGTH_MAX}
          {...form.field("upstreamName", "upstream_name")}
          required
        />
      </div>
      <CapabilityPicker
        capabilities={form.values.capabilities}
        error={form.findError("capabilities")}
        onChange={(capabilities) => form.set({ capabilities })}
      />
    </>
  );
}
