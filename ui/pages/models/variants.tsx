import { useState } from "react";
import type { Capability } from "#catalog/capability.ts";
import { parsePriceVariants, VARIANTS_MAX } from "#catalog/variant-list.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import { PriceInputs } from "../../catalog/price-inputs.tsx";
import { NO_PRICES, type PriceFields, type PriceVariants, toPricing } from "../../catalog/price-set.ts";
import { NO_CONDITION, VariantTable } from "../../catalog/variant-table.tsx";
import { Button } from "../../components/button.tsx";
import { NumberField } from "../../components/number-field.tsx";
import { TextField } from "../../components/text-field.tsx";

/** What stands in the fields of a variant; an empty one is no condition. */
export interface VariantForm {
  readonly tier: string;
  readonly inputOver: number | null;
  readonly geo: string;
  readonly hours: string;
  readonly prices: PriceFields;
}

const NEW_VARIANT: VariantForm = { tier: "", inputOver: null, geo: "", hours: "", prices: NO_PRICES };

export function toVariantForms(variants: PriceVariants): readonly VariantForm[] {
  return variants.map(({ when, pricing }) => ({
    tier: when.tier ?? "",
    inputOver: when.input_over ?? null,
    geo: when.geo ?? "",
    hours: when.hours ?? "",
    prices: pricing,
  }));
}

/** The write for these fields: the whole list. */
export function toPriceVariants(forms: readonly VariantForm[]) {
  return forms.map(({ tier, inputOver, geo, hours, prices }) => ({
    when: {
      ...(tier.trim() !== "" && { tier: tier.trim() }),
      ...(inputOver !== null && { input_over: inputOver }),
      ...(geo.trim() !== "" && { geo: geo.trim() }),
      ...(hours.trim() !== "" && { hours: hours.trim() }),
    },
    pricing: toPricing(prices),
  }));
}

export function isSameVariants(left: readonly VariantForm[], right: readonly VariantForm[]): boolean {
  return JSON.stringify(toPriceVariants(left)) === JSON.stringify(toPriceVariants(right));
}

/** What the server would refuse of the list, by its path in the request. */
export function findVariantFault(variants: readonly unknown[]): { readonly [path: string]: string } {
  try {
    parsePriceVariants(variants);
    return {};
  } catch (failure) {
    if (!(failure instanceof ProxyError)) throw failure;
    return { [failure.param ?? "price_variants"]: failure.message };
  }
}

function toWords(form: VariantForm): string {
  const [{ when } = { when: {} }] = toPriceVariants([form]);
  return toConditionWords(when) || NO_CONDITION;
}

interface VariantFieldsProps {
  readonly variants: readonly VariantForm[];
  readonly onChange: (variants: readonly VariantForm[]) => void;
  readonly capabilities: readonly Capability[];
  /** Those of the target, which hold while there is none here. */
  readonly inherited: PriceVariants;
  /** What is wrong with a field, by its path in the request. */
  readonly findError: (path: string) => string | undefined;
  /** The error of the last try to save. */
  readonly failure: Error | null;
}

/** The variants of a model as a table, of which one at a time is changed below it. */
export function VariantFields(props: VariantFieldsProps) {
  const { variants, onChange, inherited, findError } = props;
  const [chosen, setOpen] = useState<number | null>(null);
  const wrong = variants.findIndex((_, index) => hasFault(index, findError));
  const open = wrong === -1 ? chosen : wrong;
  const shown = open === null ? undefined : variants[open];
  const error = findError("price_variants");
  const isInherited = variants.length === 0 && inherited.length > 0;
  const edit = (part: Partial<VariantForm>) =>
    onChange(variants.map((variant, index) => (index === open ? { ...variant, ...part } : variant)));
  return (
    <section aria-label="Price variants" className="flex flex-col gap-2">
      <h3 className="text-xs font-medium">Price variants</h3>
      <p className="text-xs text-ink-soft">
        {isInherited
          ? "Inherited as one list: a variant of its own replaces all of them."
          : "Complete price sets for requests that meet every condition. A service tier or region that no variant names is unpriced."}
      </p>
      {isInherited && <VariantTable label="Prices by condition" variants={inherited} />}
      {variants.length > 0 && (
        <VariantTable
          label="Prices by condition"
          variants={toPriceVariants(variants)}
          action={(index, words) => (
            <Button
              size="sm"
              variant="ghost"
              aria-expanded={open === index}
              aria-label={`Edit ${words}`}
              onClick={() => setOpen(open === index ? null : index)}
            >
              Edit
            </Button>
          )}
        />
      )}
      {shown !== undefined && open !== null && (
        <fieldset
          key={open}
          className="flex flex-col gap-3 rounded-card border border-line bg-sunken p-3"
          aria-label={`Variant: ${toWords(shown)}`}
        >
          <Conditions
            variant={shown}
            path={`price_variants[${open}].when`}
            findError={findError}
            onChange={edit}
          />
          <PriceInputs
            path={`price_variants[${open}].pricing`}
            prices={shown.prices}
            capabilities={props.capabilities}
            failure={props.failure}
            onChange={(prices) => edit({ prices })}
          />
          <FaultNote
            text={findError(`price_variants[${open}].pricing`) ?? findError(`price_variants[${open}]`)}
          />
          <div className="flex gap-2">
            <Button size="sm" onClick={() => setOpen(null)}>
              Done
            </Button>
            <Button
              size="sm"
              icon="trash"
              onClick={() => {
                setOpen(null);
                onChange(variants.filter((_, index) => index !== open));
              }}
            >
              Remove variant
            </Button>
          </div>
        </fieldset>
      )}
      <FaultNote text={error} />
      <Button
        size="sm"
        icon="plus"
        className="self-start"
        disabled={variants.length >= VARIANTS_MAX}
        onClick={() => {
          setOpen(variants.length);
          onChange([...variants, NEW_VARIANT]);
        }}
      >
        Add variant
      </Button>
    </section>
  );
}

const FAULT_PATHS = ["", ".when", ".when.tier", ".when.input_over", ".when.geo", ".when.hours", ".pricing"];

function hasFault(index: number, findError: VariantFieldsProps["findError"]): boolean {
  return FAULT_PATHS.some((path) => findError(`price_variants[${index}]${path}`) !== undefined);
}

function FaultNote({ text }: { readonly text: string | undefined }) {
  return text !== undefined && <p className="text-xs text-bad">{text}</p>;
}

interface ConditionsProps {
  readonly variant: VariantForm;
  readonly path: string;
  readonly findError: VariantFieldsProps["findError"];
  readonly onChange: (part: Partial<VariantForm>) => void;
}

function Conditions({ variant, path, findError, onChange }: ConditionsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextField
        label="Service tier"
        placeholder="any"
        hint="Such as flex, priority or fast"
        autoFocus
        value={variant.tier}
        error={findError(`${path}.tier`) ?? findError(path)}
        onValueChange={(tier) => onChange({ tier })}
      />
      <NumberField
        label="Input over"
        placeholder="any length"
        suffix="tokens"
        hint="Cached and written tokens count"
        integer
        min={1}
        value={variant.inputOver}
        error={findError(`${path}.input_over`)}
        onValueChange={(inputOver) => onChange({ inputOver })}
      />
      <TextField
        label="Region"
        placeholder="any"
        hint="Such as us"
        value={variant.geo}
        error={findError(`${path}.geo`)}
        onValueChange={(geo) => onChange({ geo })}
      />
      <TextField
        label="Hours (UTC)"
        placeholder="any"
        hint="Such as 22:00-04:00; by the end of the request"
        value={variant.hours}
        error={findError(`${path}.hours`)}
        onValueChange={(hours) => onChange({ hours })}
      />
    </div>
  );
}
