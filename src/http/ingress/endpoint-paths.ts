import type { ServedEndpoint } from "#catalog/capability.ts";

const PATHS = [
  ["/chat/completions", "chat"],
  ["/completions", "completions"],
  ["/embeddings", "embeddings"],
] as const;

/** The POST paths of the data plane: under `/v1` and without it, both are the same route and no redirect. */
export const ENDPOINT_PATHS: ReadonlyMap<string, ServedEndpoint> = new Map(
  ["/v1", ""].flatMap((prefix) => PATHS.map(([path, endpoint]) => [`${prefix}${path}`, endpoint] as const)),
);
