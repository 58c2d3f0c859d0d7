/** What the overview can cut the usage by. `app` is the value of the tag `app`. */
export const BREAKDOWNS = ["model", "principal", "provider", "client", "app", "tag"] as const;
export type Breakdown = (typeof BREAKDOWNS)[number];

export const BREAKDOWN_LABELS: { readonly [by in Breakdown]: string } = {
  model: "Model",
  principal: "Person",
  provider: "Provider",
  client: "Client",
  app: "App",
  tag: "Tag",
};

/** What the charts of usage count. */
export const MEASURES = ["cost", "requests", "tokens"] as const;
export type Measure = (typeof MEASURES)[number];
