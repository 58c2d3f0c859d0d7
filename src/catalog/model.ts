import type { InstantUs } from "#kernel/clock.ts";
import { type Capability, CAPABILITIES, isCapability } from "./capability.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  ALIAS_LENGTH_MAX,
  ALIAS_PATTERN,
  codePointLength,
  hasControlCharacter,
  UPSTREAM_NAME_LENGTH_MAX,
} from "#kernel/text.ts";

export const ORIGINS = ["declared", "discovered"] as const;
type Origin = (typeof ORIGINS)[number];

/** A model either routes to a provider's model itself, or is a name for another model that does: one hop, never both. */
export type Route =
  | {
      readonly kind: "binding";
      readonly providerId: string;
      readonly upstreamName: string;
      readonly capabilities: readonly Capability[];
    }
  | { readonly kind: "name"; readonly targetId: string };

/** A row of the curated catalog (specification, section 2.4). Immutable. */
export interface Model {
  /** Stable over renames; the handle of the compatibility endpoints. */
  readonly id: string;
  /** Globally unique public name. */
  readonly alias: string;
  readonly route: Route;
  readonly origin: Origin;
  /** The row's own flag: hiding a model does not hide the names that point at it. */
  readonly hidden: boolean;
  readonly createdAtUs: InstantUs;
}

/** Prices per million units as a client wrote them; a unit left out or null has no price of its own afterwards. */
export type PricingDraft = { readonly [unit: string]: unknown };

/** Prices under conditions as a client wrote them, of which only that they are a list is known. Null and none remove them. */
export type VariantsDraft = readonly unknown[] | null;

/** A model as an admin writes it (specification, section 2.4), with its JSON types already checked. */
export interface ModelDraft {
  /** Empty is left out: the model then serves under its upstream name. */
  readonly alias?: string | undefined;
  readonly provider?: string | undefined;
  readonly upstreamName?: string | undefined;
  /** Empty is left out. */
  readonly target?: string | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly origin?: string | undefined;
  readonly pricing?: PricingDraft | undefined;
  readonly priceVariants?: VariantsDraft | undefined;
  readonly hidden?: boolean | undefined;
}

export interface ModelPatch {
  readonly alias?: string | undefined;
  readonly provider?: string | undefined;
  readonly upstreamName?: string | undefined;
  /** Empty makes the model a binding of its own, with `provider` and `upstreamName`. */
  readonly target?: string | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly pricing?: PricingDraft | undefined;
  readonly priceVariants?: VariantsDraft | undefined;
  readonly hidden?: boolean | undefined;
  /** The moment from which the prices of this patch hold; absent: from now on. */
  readonly effectiveFrom?: string | undefined;
}

/** Throws `invalid_name`, param `alias`. */
export function parseAlias(text: string): string {
  if (!ALIAS_PATTERN.test(text) || codePointLength(text) > ALIAS_LENGTH_MAX) {
    throw new ProxyError(
      "invalid_name",
      `An alias is 1 to ${ALIAS_LENGTH_MAX} letters, digits and . _ : / -, and starts with a letter or digit. Without an alias the upstream name has to fit this rule.`,
      { param: "alias" },
    );
  }
  return text;
}

/** Any text that can be told in a header and is not blank. */
export function isUpstreamName(text: string): boolean {
  return (
    text.trim() !== "" &&
    // A lone surrogate has no UTF-8 form: it would neither be stored nor sent as it was given.
    text.isWellFormed() &&
    !hasControlCharacter(text) &&
    codePointLength(text) <= UPSTREAM_NAME_LENGTH_MAX
  );
}

/** Throws `invalid_name`, param `upstream_name`. */
export function parseUpstreamName(text: string): string {
  if (!isUpstreamName(text)) {
    throw new ProxyError(
      "invalid_name",
      `An upstream name is 1 to ${UPSTREAM_NAME_LENGTH_MAX} characters, without control characters.`,
      { param: "upstream_name" },
    );
  }
  return text;
}

/** In the order given, duplicates once. Throws `invalid_request`, param `capabilities[n]`. */
export function parseCapabilities(texts: readonly string[]): readonly Capability[] {
  const capabilities = new Set<Capability>();
  for (const [index, text] of texts.entries()) {
    if (!isCapability(text)) {
      throw new ProxyError("invalid_request", `The capabilities are ${CAPABILITIES.join(", ")}.`, {
        param: `capabilities[${index}]`,
      });
    }
    capabilities.add(text);
  }
  return [...capabilities];
}

/** Throws `invalid_request`, param `origin`. */
export function parseOrigin(text: string): Origin {
  const origin = ORIGINS.find((known) => known === text);
  if (origin === undefined) {
    throw new ProxyError("invalid_request", `origin is ${ORIGINS.join(" or ")}.`, { param: "origin" });
  }
  return origin;
}

/** A member's name may be anything a client sent; only a plain one is repeated in an error. */
const PLAIN_KEY_PATTERN = /^[A-Za-z0-9_.-]{1,64}$/;

/** The `param` of a member of an object field: `pricing.input_tokens`, or only `pricing` when the key is no plain word. */
export function fieldParam(field: string, key: string): string {
  return PLAIN_KEY_PATTERN.test(key) ? `${field}.${key}` : field;
}

/**
 * The aliases that a caller may use and see; null: every one. Any other is to that caller as if it were not there. It is of
 * names, be they in the catalog or not: a model that is renamed is another one to it.
 */
export type ModelScope = ReadonlySet<string> | null;

export function isInScope(scope: ModelScope, alias: string): boolean {
  return scope === null || scope.has(alias);
}
