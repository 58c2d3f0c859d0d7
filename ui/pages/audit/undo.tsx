import type { ReactNode } from "react";
import { toChangeSentence } from "#views/audit-change.ts";
import { type StoredKind, toStoredFields } from "#views/entity-tag.ts";
import { isJsonObject } from "#kernel/json.ts";
import { loadPricing, MODELS, type Pricing, type PricingFeed } from "../../api/catalog.ts";
import { type Change, changing } from "../../api/changing.ts";
import { call } from "../../api/client.ts";
import { changedMeanwhile } from "../../api/failure.ts";
import { LIMITS } from "../../api/limits.ts";
import { type AuditEvent, PRINCIPALS } from "../../api/people.ts";
import { PriceConsequence } from "../../catalog/price-consequence.tsx";
import { ChangeQuestion } from "../../lists/row-panel.tsx";
import { toHandVersion } from "../../catalog/price-set.ts";

/** A change that takes an event back. */
type Undo = RowUndo | FeedUndo;

interface FeedUndo {
  readonly from: Pricing;
  readonly body: Omit<PricingFeed, "version">;
  readonly kind: "pricing_feed";
}

interface RowUndo {
  readonly id: string;
  /** The row as it is, over which nothing is written that came since; null: it is made again. */
  readonly from: object | null;
  readonly body: { readonly [field: string]: unknown };
  readonly kind: UndoneKind;
}

type UndoneKind = "principal" | "model" | "limit";

/** Fields that a change of a row can set, and so set back. */
const FIELDS: { readonly [kind in UndoneKind]: readonly string[] } = {
  principal: ["role", "enabled", "tags"],
  model: [
    "alias",
    "provider",
    "upstream_name",
    "capabilities",
    "target",
    "hidden",
    "pricing",
    "price_variants",
  ],
  limit: ["name", "amount", "window", "action", "unpriced", "unknown", "enabled"],
};

function isUndone(kind: AuditEvent["target_kind"]): kind is UndoneKind & StoredKind {
  return kind in FIELDS;
}

/** It says of a field where the prices are from, and is set by no request. */
const INHERITED = "pricing_inherited";

/**
 * How an event is taken back; a sentence where that is no longer possible; null where it never was: a secret or a person.
 * `row`: the target as it is, null when it is gone; `kept`: all prices, once they are known.
 */
export function toUndo(event: AuditEvent, row: object | null, kept?: Pricing): Undo | string | null {
  const { target_kind: kind, action, change } = event;
  if (change === null || change.fields.length === 0) return null;
  if (kind === "pricing_feed") return kept === undefined ? null : toFeedUndo(event, kept);
  if (!isUndone(kind) || change.omitted > 0) return null;
  const fields = change.fields.filter(({ field }) => field !== INHERITED);
  if (fields.some(({ secret, cut }) => secret === true || cut === true)) return null;
  const before = Object.fromEntries(fields.map((each) => [each.field, each.before]));
  if (action.endsWith(".delete")) {
    if (kind === "principal") return null;
    if (row !== null) return "It is there again.";
    const wasInherited = change.fields.some(({ field, before: was }) => field === INHERITED && was === true);
    const { pricing, prices_to_come: _, ...rest } = before;
    // Whom a limit of everybody is for is no field that was told, since it is empty.
    const subject = kind === "limit" ? { subject: {} } : {};
    const body = { ...subject, ...rest, ...(!wasInherited && pricing !== undefined && { pricing }) };
    return { id: event.target_ref, from: null, body, kind };
  }
  if (!action.endsWith(".update") || !fields.every(({ field }) => FIELDS[kind].includes(field))) return null;
  if (row === null) return "Its target was deleted.";
  const now = new Map(toStoredFields(kind, row));
  const differs = fields.some(({ field, after }) => !isSame(now.get(field), after));
  if (differs) return "These fields were changed again since.";
  const alias = fields.find(({ field }) => field === "alias")?.after;
  const id = typeof alias === "string" ? alias : event.target_ref;
  // An empty target makes a name a model that routes by itself.
  const target = "target" in before && before["target"] === null ? { target: "" } : {};
  return { id, from: row, body: { ...withoutNone(before), ...target }, kind };
}

/** The former prices of a feed are loaded again, and those that it added are removed. */
function toFeedUndo({ action, change }: AuditEvent, pricing: Pricing): FeedUndo | string | null {
  const { fields = [], omitted = 0 } = change ?? {};
  const isComing = fields.some(({ field }) => field.startsWith("prices_to_come."));
  if (action === "pricing.drop") return null;
  if (omitted > 0 || fields.some(({ cut }) => cut === true)) return "Not all of the change was kept.";
  if (isComing && action !== "pricing.unschedule") return "Prices to come are taken back at their model.";
  const was = toPrices(fields.map(({ field, before }) => [field, before]));
  const is = toPrices(fields.map(({ field, after }) => [field, after]));
  const now = toPrices([
    ...pricing.entries.map(
      (price) => [`pricing.${price.model}`, { [price.unit]: price.price_per_million }] as const,
    ),
    ...(pricing.variants ?? []).map(
      ({ model, ...variant }) => [`price_variants.${model}`, [variant]] as const,
    ),
  ]);
  const changed = [...new Set([...was.keys(), ...is.keys()])].filter(
    (id) => was.get(id)?.price !== is.get(id)?.price,
  );
  if (!isComing && changed.some((id) => now.get(id)?.price !== is.get(id)?.price)) return CHANGED_AGAIN;
  const entries = changed.flatMap((id) => was.get(id) ?? []);
  if (entries.some(({ from }) => from !== undefined && from <= new Date().toISOString()))
    return "Their date is past.";
  const removed = changed.flatMap((id) => (was.has(id) ? [] : (is.get(id)?.place ?? [])));
  const toEntry = ({ place, price, from }: Price) =>
    Object.assign({ price_per_million: price }, place, from !== undefined && { effective_from: from });
  return { kind: "pricing_feed", from: pricing, body: { entries: entries.map(toEntry), removed } };
}

const CHANGED_AGAIN = "These prices were changed again since.";

interface Price {
  readonly place: object;
  readonly price: unknown;
  /** Absent for one that holds. */
  readonly from?: string;
}

/** The prices of fields such as `pricing.gpt-5`, by what tells them apart. */
function toPrices(fields: readonly (readonly [field: string, value: unknown])[]): ReadonlyMap<string, Price> {
  const prices = new Map<string, Price>();
  const put = (model: string, from: unknown, set: unknown) => {
    const { when, pricing } = isJsonObject(set) ? set : {};
    for (const [unit, price] of isJsonObject(pricing) ? Object.entries(pricing) : [])
      prices.set([unit, toComparable(when), from, model].join("\n"), {
        place: { model, unit, ...(when !== undefined && { when }) },
        price,
        ...(typeof from === "string" && { from }),
      });
  };
  for (const [field, value] of fields) {
    const [head, model] = [field.slice(0, field.indexOf(".")), field.slice(field.indexOf(".") + 1)];
    const {
      effective_from: from,
      price_variants: variants,
      ...standard
    } = head === "prices_to_come" && isJsonObject(value) ? value : { [head]: value };
    const sets: readonly unknown[] = Array.isArray(variants) ? variants : [];
    for (const set of [standard, ...sets]) put(model, from, set);
  }
  return prices;
}

const ROUTE: ReadonlySet<string> = new Set(["provider", "upstream_name", "capabilities", "target"]);

/** A route that a model did not have is none that a request could set. */
function withoutNone(before: { readonly [field: string]: unknown }) {
  return Object.fromEntries(
    Object.entries(before).filter(([field, value]) => value !== null || !ROUTE.has(field)),
  );
}

/** A list that is empty, a field that is absent and null are one: nothing. */
function isSame(one: unknown, other: unknown): boolean {
  return toComparable(one) === toComparable(other);
}

function toComparable(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return entries.length === 0 ? "" : JSON.stringify(entries);
}

const RESOURCES = { principal: PRINCIPALS, model: MODELS, limit: LIMITS };

/** A resource whose requests are made of what an event kept, which the server judges. */
interface Recorded {
  readonly update: Change<{ readonly id: string; readonly patch: unknown; readonly from: object }, unknown>;
  readonly create: Change<unknown, unknown>;
}

function toRecorded(kind: UndoneKind): Recorded;
function toRecorded(kind: UndoneKind): object {
  return RESOURCES[kind];
}

/** An undo is an ordinary change of the target to its former values: it gets an event of its own. */
function toChange(event: AuditEvent, undo: Undo): Change<unknown, unknown> {
  if (undo.kind === "pricing_feed")
    return changing(async () => {
      // What was set since the page asked is not written over.
      const now = toFeedUndo(event, await call("GET /admin/v1/pricing", {}));
      if (now === null || typeof now === "string") throw changedMeanwhile(now ?? CHANGED_AGAIN);
      return await loadPricing.run({ ...now.body, version: toHandVersion(Date.now()) });
    }, loadPricing.refresh);
  const { id, body, from } = undo;
  const { update, create } = toRecorded(undo.kind);
  return from === null
    ? changing(() => create.run(body), create.refresh)
    : changing(() => update.run({ id, patch: body, from }), update.refresh);
}

interface UndoQuestionProps {
  readonly event: AuditEvent;
  readonly undo: Undo;
  readonly label: string;
  readonly onClose: () => void;
}

/** Asks before a change is taken back, and says what that will change. */
export function UndoQuestion({ event, undo, label, onClose }: UndoQuestionProps): ReactNode {
  const fields = event.change?.fields ?? [];
  const back = fields
    .filter(({ field }) => undo.kind === "pricing_feed" || field in undo.body)
    .map(({ field, before, after }) => ({ field, before: after, after: before }));
  const wasInherited = fields.some(({ field, before }) => field === INHERITED && before === true);
  return (
    <ChangeQuestion
      title={undo.from === null ? `Create ${label} again?` : `Undo the change of ${label}?`}
      body={
        <>
          <p className="break-words">
            {toChangeSentence(undo.from === null ? event.action : "model.update", back)}.
          </p>
          <p className="mt-1.5">
            Applies from the next request. {wasInherited && "Its prices become its own. "}
            {undo.from === null && "Its former use and what was deleted with it do not come back."}
          </p>
          {undo.kind === "pricing_feed" && <PriceConsequence name="" wish={undo.body} />}
        </>
      }
      confirmLabel={undo.from === null ? "Create again" : "Undo change"}
      danger={false}
      change={toChange(event, undo)}
      wanted={undo}
      done={() => ({ title: undo.from === null ? `${label} created again` : `Change of ${label} undone` })}
      onClose={onClose}
    />
  );
}
