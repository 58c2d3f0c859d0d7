import type { Query, QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * Under which key each answer stands in the cache, before what was asked for in particular. A change of something makes
 * stale whatever begins with its key.
 */
export const KEYS = {
  me: ["me"],
  mySessions: ["my", "sessions"],
  settings: ["admin", "settings"],
  mine: ["my"],
  myUsage: ["my", "usage"],
  mySeries: ["my", "series"],
  myBreakdown: ["my", "breakdown"],
  myKeys: ["my", "keys"],
  myRelayTokens: ["my", "relay-tokens"],
  myLimits: ["my", "limits"],
  callableModels: ["models"],
  providers: ["admin", "providers"],
  models: ["admin", "models"],
  resolutions: ["admin", "resolve"],
  pricing: ["admin", "pricing"],
  listPrices: ["admin", "list-prices"],
  principals: ["admin", "principals"],
  keys: ["admin", "keys"],
  relayTokens: ["admin", "relay-tokens"],
  limits: ["admin", "limits"],
  limitUses: ["admin", "limit-uses"],
  events: ["admin", "events"],
  reports: ["reports"],
  series: ["reports", "series"],
  summary: ["reports", "summary"],
  requests: ["reports", "requests"],
  request: ["reports", "request"],
  tail: ["reports", "tail"],
  facets: ["reports", "facets"],
  breakdown: ["reports", "breakdown"],
  costChange: ["reports", "cost-change"],
  statement: ["reports", "statement"],
  // Prices are in it, so that a change of them makes it stale.
  whatIf: ["admin", "pricing", "what-if"],
  repricings: ["admin", "repricing"],
  errors: ["reports", "errors"],
  refusals: ["reports", "refusals"],
  usageByPrincipal: ["reports", "by-principal"],
  removals: ["removals"],
  discovery: ["discovery"],
  playgroundRow: ["playground", "row"],
} as const;

/** Refetches what is shown of these, and the rest when it is shown again. */
export async function makeStale(client: QueryClient, keys: readonly QueryKey[]): Promise<void> {
  await Promise.all(
    keys.map((queryKey) => {
      // A refetch waits for a first answer that is on its way, which can be from before the change.
      void client.cancelQueries({ queryKey, type: "active", predicate: isUnanswered }, { silent: true });
      // Begun at once: whoever waits for what was given up waits for this instead.
      return client.invalidateQueries({ queryKey });
    }),
  );
}

function isUnanswered({ state }: Query): boolean {
  return state.data === undefined;
}
