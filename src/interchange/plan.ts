import type { FeedDraft } from "#catalog/feed.ts";
import type { ModelDraft, ModelPatch } from "#catalog/model-draft.ts";
import type { ProviderDraft, ProviderPatch } from "#catalog/provider-draft.ts";
import type { ModelRoute, Prices } from "./catalog-file.ts";

/** One call that changes an installation. May hold a provider's key: never shown. */
export type Step =
  | { readonly kind: "create_provider"; readonly draft: ProviderDraft }
  | { readonly kind: "update_provider"; readonly name: string; readonly patch: ProviderPatch }
  | { readonly kind: "delete_provider"; readonly name: string }
  | { readonly kind: "create_model"; readonly draft: ModelDraft }
  | { readonly kind: "update_model"; readonly alias: string; readonly patch: ModelPatch }
  | { readonly kind: "delete_model"; readonly alias: string }
  | { readonly kind: "load_feed"; readonly feed: FeedDraft };

/** One line of the difference, with the steps that make it so. */
export interface Change {
  readonly action: "add" | "change" | "remove";
  readonly subject: "provider" | "model" | "feed";
  readonly name: string;
  /** What it has, or what becomes of what it had (`hidden: false -> true`); without secrets. */
  readonly details: readonly string[];
  readonly steps: readonly Step[];
}

/** Something that its reader should know, of a line of the file or (null) of the whole. */
export interface Note {
  readonly line: number | null;
  readonly sentence: string;
}

export interface Plan {
  /** In the order in which they are made. */
  readonly changes: readonly Change[];
  readonly notes: readonly Note[];
}

/** `openai: gpt-5`, or `-> gpt-5` of a name. */
export function describeRoute(route: ModelRoute): string {
  return route.kind === "name" ? `-> ${route.target}` : `${route.provider}: ${route.upstreamName}`;
}

/** `input_tokens=1.25 output_tokens=10`. */
export function describePrices(prices: Prices): string {
  const pairs = Object.entries(prices).map(([unit, price]) => `${unit}=${price}`);
  return pairs.length === 0 ? "no prices" : pairs.join(" ");
}
