import type { InstantUs } from "#kernel/clock.ts";
import type { Capability } from "./capability.ts";

export const ORIGINS = ["declared", "discovered"] as const;
export type Origin = (typeof ORIGINS)[number];

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
