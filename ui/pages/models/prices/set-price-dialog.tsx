import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import {
  loadPricing,
  type Model,
  type ModelPatch,
  MODELS,
  type PriceWish as PreviewedPrices,
  type Pricing,
  type PricingFeed,
  pricingQuery,
} from "../../../api/catalog.ts";
import { changedMeanwhile } from "../../../api/failure.ts";
import {
  type DatedAnswer,
  type EffectiveFrom,
  EffectiveFromField,
  findDateFault,
  toAppliesWords,
  toEffectiveFrom,
  toLateRequests,
  toLateWords,
  toRepricingSearch,
} from "../../../catalog/effective-from.tsx";
import { PriceConsequence } from "../../../catalog/price-consequence.tsx";
import { NumberField } from "../../../components/number-field.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { useToast } from "../../../components/toast.tsx";
import { FormDialog } from "../../../form/form.tsx";
import { REQUIRED } from "../../../form/terms.ts";
import { useForm } from "../../../form/use-form.ts";
import { toHandVersion } from "../../../catalog/price-set.ts";
import type { NameKind, NamePrices } from "./price-list.tsx";
import { formatMoneyExact } from "../../../text/format.ts";

/** The name that a price is set for. */
export interface PricedName {
  readonly name: string;
  readonly kind: NameKind;
  /** The unit to begin with. */
  readonly unit: Unit;
  /** What is kept for it now, per million. */
  readonly prices: { readonly [unit in Unit]?: number };
}

/** Begins with the first unit that has a price. */
export function toPricedName({ name, prices, kind }: NamePrices): PricedName {
  const kept = UNITS.flatMap((unit) => {
    const price = prices[unit]?.price_per_million;
    return price === undefined ? [] : [[unit, price] as const];
  });
  return { name, kind, unit: kept[0]?.[0] ?? "input_tokens", prices: Object.fromEntries(kept) };
}

interface SetPriceDialogProps {
  readonly priced: PricedName;
  /** The model of this name, when there is one. */
  readonly model: Model | undefined;
  readonly onClose: () => void;
}

/** One price of one unit; the model's other units keep theirs. */
export function SetPriceDialog({ priced, model, onClose }: SetPriceDialogProps) {
  const { name, kind } = priced;
  const { notify } = useToast();
  const navigate = useNavigate();
  const client = useQueryClient();
  const { data: pricing } = useQuery(pricingQuery());
  const { data: models } = useQuery(MODELS.list());
  // What one has seen: another price than this one is not written over before it is told.
  const [seen, setSeen] = useState(priced.prices);
  const form = useForm({
    name: "set-price",
    begin: toBegin(priced),
    check: ({ price, effectiveFrom }) => ({
      price: price === null ? REQUIRED : undefined,
      effective_from: findDateFault(effectiveFrom),
    }),
    change: {
      mutationFn: async (wish: PriceWish) => {
        const { saved, now } = await setPrice(client, wish, seen[wish.unit] ?? null);
        if (saved !== null) return saved;
        setSeen({ ...seen, [wish.unit]: now });
        throw changedMeanwhile(
          `The price is ${now === null ? "gone" : formatMoneyExact(now)} now. "Set price" writes yours over it.`,
        );
      },
      onSettled: () => MODELS.update.refresh(client),
    },
    toAsked: ({ unit, price, effectiveFrom }) =>
      price === null ? null : { name, kind, unit, pricePerMillion: price, effectiveFrom },
    onSaved: (saved, { effectiveFrom }) => {
      const from = toEffectiveFrom(effectiveFrom ?? null).effective_from;
      const late = toLateRequests(name, from, saved);
      notify({
        title: `Price set for ${name}`,
        body: late === null ? toAppliesWords(from) : toLateWords(late),
        tone: "good",
        ...(late !== null && {
          action: {
            label: "Re-price them…",
            onSelect: () => void navigate({ to: "/models/repricing", search: toRepricingSearch(late) }),
          },
        }),
      });
      onClose();
    },
  });
  const { unit, price } = form.values;
  const write =
    price === null || !form.isChanged || pricing === undefined || models === undefined
      ? null
      : planPriceWrite({ name, kind, unit, pricePerMillion: price }, models.rows, pricing, "preview");
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Set price"
      description={<span className="break-words">{name}</span>}
      size="sm"
      submit="Set price"
      underWay="Saving…"
    >
      <SelectField
        label="Unit"
        {...form.field("unit")}
        options={UNITS.map((value) => ({ value, label: UNIT_TABLE[value].label }))}
        onValueChange={(next) => form.set({ unit: next, price: priced.prices[next] ?? null })}
      />
      <NumberField
        label={`Price per million ${UNIT_TABLE[unit].measure}`}
        {...form.field("price")}
        prefix="$"
        min={0}
        autoFocus
        required
        hint={toHint(price, unit)}
      />
      <div className="flex flex-col gap-1.5 text-xs text-ink-soft">
        <WhereItHolds kind={kind} model={model} />
        <p>Past requests keep what they were recorded with until they are re-priced.</p>
      </div>
      <EffectiveFromField {...form.field("effectiveFrom", "effective_from")} />
      <PriceConsequence name={name} wish={write === null ? null : toPreviewed(write)} />
    </FormDialog>
  );
}

interface PriceForm {
  readonly unit: Unit;
  readonly price: number | null;
  readonly effectiveFrom: EffectiveFrom;
}

function toBegin({ unit, prices }: PricedName): PriceForm {
  return { unit, price: prices[unit] ?? null, effectiveFrom: null };
}

function toPreviewed(write: PriceWrite): PreviewedPrices {
  return write.kind === "feed"
    ? { entries: write.feed?.entries ?? [] }
    : { model: write.id, pricing: write.patch?.pricing ?? {} };
}

function toHint(price: number | null, unit: Unit): string {
  if (price === null) return "0 means free. Up to six decimals.";
  return `${formatMoneyExact(price / 1e6)} ${UNIT_TABLE[unit].each}`;
}

function WhereItHolds({ kind, model }: { readonly kind: NameKind; readonly model: Model | undefined }) {
  if (kind === "relay") return <p>It applies to every relayed request for this model.</p>;
  if (kind === "upstream") return <p>It applies to every model that inherits from this upstream name.</p>;
  if (model === undefined) {
    return (
      <p>No model has this name now. The price applies when one gets it as its alias or upstream name.</p>
    );
  }
  if (model.target === null) return <p>The prices of the model’s other units stay as they are.</p>;
  return (
    <p>
      This is a name for {model.target}: the price holds for this name only, everything else stays the
      target’s. To price {model.target} for all its names,{" "}
      <Link to="/models" search={{ q: model.target }} className="text-accent underline">
        change the target
      </Link>
      .
    </p>
  );
}

/** What the server answered, or the price that another one has set meanwhile. */
type SetPrice =
  | { readonly saved: DatedAnswer; readonly now: null }
  | { readonly saved: null; readonly now: number | null };

/** Sets one price by what the server has now, not by what the page showed; answers with the price where it is another than `was`. */
async function setPrice(client: QueryClient, wish: PriceWish, was: number | null): Promise<SetPrice> {
  const [models, prices] = await Promise.all([
    client.fetchQuery({ ...MODELS.list(), staleTime: 0 }),
    client.fetchQuery({ ...pricingQuery(), staleTime: 0 }),
  ]);
  const kept = prices.entries.find(({ model, unit }) => model === wish.name && unit === wish.unit);
  const now = kept?.price_per_million ?? null;
  if (now !== was) return { saved: null, now };
  const write = planPriceWrite(wish, models.rows, prices, toHandVersion(Date.now()));
  const saved = write.kind === "patch" ? await MODELS.update.run(write) : await loadPricing.run(write.feed);
  return { saved, now: null };
}

/** One price that shall hold for a name. */
interface PriceWish {
  readonly name: string;
  readonly kind: NameKind;
  readonly unit: Unit;
  readonly pricePerMillion: number;
  readonly effectiveFrom?: EffectiveFrom;
}

/** How one price is set without changing what the other units cost. */
export type PriceWrite =
  | { readonly kind: "patch"; readonly id: string; readonly patch: ModelPatch; readonly from: Model }
  | { readonly kind: "feed"; readonly feed: PricingFeed };

/**
 * A write of a model's prices is its complete set: of a name for a target what it overrides so far and the new price, of a
 * binding whose prices were written with it those and the new one. Any other binding takes prices from feeds, also from
 * later ones, and a complete set would cut it off from them; and for a relayed or deleted name there is no model. There,
 * a feed of one entry sets the pair alone. So it does with a date: a complete set would give the other units the prices of now from
 * that moment on, where they had, or are to have, others.
 */
export function planPriceWrite(
  wish: PriceWish,
  models: readonly Model[],
  { entries }: Pick<Pricing, "entries">,
  version: string,
): PriceWrite {
  const model = wish.kind === "model" ? models.find(({ alias }) => alias === wish.name) : undefined;
  const own = entries.filter((price) => price.model === model?.alias);
  const isDated = wish.effectiveFrom !== undefined && wish.effectiveFrom !== null;
  if (model === undefined || isDated || !hasOwnSet(model, own))
    return { kind: "feed", feed: toFeed(wish, version) };
  const kept = Object.fromEntries(own.map(({ unit, price_per_million: price }) => [unit, price]));
  return {
    kind: "patch",
    id: model.alias,
    from: model,
    patch: {
      pricing: { ...kept, [wish.unit]: wish.pricePerMillion },
    },
  };
}

function hasOwnSet(model: Model, own: Pricing["entries"]): boolean {
  if (model.target !== null) return true;
  return own.length > 0 && !model.pricing_inherited && own.every(({ version }) => version === null);
}

function toFeed(wish: PriceWish, version: string): PricingFeed {
  const { name, unit, pricePerMillion, effectiveFrom = null } = wish;
  const dated = toEffectiveFrom(effectiveFrom);
  return { version, entries: [{ model: name, unit, price_per_million: pricePerMillion, ...dated }] };
}
