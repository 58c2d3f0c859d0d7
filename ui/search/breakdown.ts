import { GROUP_FIELDS, GROUP_ORDERS, type GroupOrder } from "#stats/series-grouping.ts";

/** What the overview can cut the usage by. `app` is the value of the tag `app`; by `tier` is offered where there are tiers. */
export const BREAKDOWNS = [...GROUP_FIELDS.filter((field) => field !== "key"), "app", "tag"] as const;
export type Breakdown = (typeof BREAKDOWNS)[number];

export const BREAKDOWN_LABELS: { readonly [by in Breakdown]: string } = {
  model: "Model",
  principal: "Person",
  provider: "Provider",
  client: "Client",
  tier: "Tier",
  app: "App",
  tag: "Tag",
};

/** What the charts of usage count, and the groups are ordered by. */
export const MEASURES = GROUP_ORDERS;
export type Measure = GroupOrder;
