import type { Treaty } from "@elysiajs/eden/treaty2";
import { queryOptions, type QueryClient } from "@tanstack/react-query";
import type { ReportQuery } from "../search/filters.ts";
import { unwrap, unwrapWithHeaders } from "./answer.ts";
import { changing } from "./changing.ts";
import { api, asking, toPathPart } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";
import type { KeyRotation, RotatedKey, SecretDraft, SecretUpdate } from "./secret-change.ts";
import { reportQuery, type SeriesGroups, type SeriesQuery } from "./reports.ts";

/** What a caller has and used itself (specification, section 4.3). */

type OwnWindow = Pick<ReportQuery, "since" | "until">;

export type OwnUsageRow = Treaty.Data<typeof api.my.usage.get>["usage"][number];

/** By model and endpoint. */
export function myUsageQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myUsage, window], (signal) => api.my.usage.get(asking(signal, { ...window })));
}

/** The figures of each model, failed requests among them. */
export function myBreakdownQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myBreakdown, window], (signal) =>
    api.my.usage.breakdown.get(asking(signal, { ...window, by: "model", limit: OWN_MODELS_MAX })),
  );
}

/** As many as one answer can have. */
const OWN_MODELS_MAX = 500;

export function mySeriesQuery(query: OwnWindow & Pick<SeriesQuery, "bucket"> & Partial<SeriesGroups>) {
  return reportQuery([...KEYS.mySeries, query], (signal) =>
    api.my.usage.series.get(asking(signal, { ...query })),
  );
}

export function myKeysQuery() {
  return queryOptions({
    queryKey: KEYS.myKeys,
    queryFn: async ({ signal }) => {
      const { keys: rows } = await unwrap(api.my.keys.get(asking(signal)));
      return { rows, total: rows.length };
    },
  });
}

export const createMyKey = changing((draft: SecretDraft) => unwrap(api.my.keys.post(draft)), refreshMyKeys);

export const updateMyKey = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await unwrap(api.my.keys({ id: toPathPart(id) }).patch(patch));
}, refreshMyKeys);

/** Answers with the new secret. */
export const rotateMyKey = changing(
  ({ id, graceSeconds }: KeyRotation): Promise<RotatedKey> =>
    unwrap(api.my.keys({ id: toPathPart(id) }).rotate.post({ grace_seconds: graceSeconds })),
  refreshMyKeys,
);

export const deleteMyKey = changing(
  (id: string) => unwrap(api.my.keys({ id: toPathPart(id) }).delete()),
  refreshMyKeys,
);

/** Relay tokens, and whether the relay that takes them is on. */
export function myRelayTokensQuery() {
  return queryOptions({
    queryKey: KEYS.myRelayTokens,
    queryFn: async ({ signal }) => {
      const { data, headers } = await unwrapWithHeaders(api.my["relay-tokens"].get(asking(signal)));
      const rows = data.relay_tokens;
      return { rows, total: rows.length, isRelayOn: headers.get("x-proxy-relay") !== "off" };
    },
  });
}

export const createMyRelayToken = changing(
  (draft: SecretDraft) => unwrap(api.my["relay-tokens"].post(draft)),
  refreshMyRelayTokens,
);

export const updateMyRelayToken = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await unwrap(api.my["relay-tokens"]({ id: toPathPart(id) }).patch(patch));
}, refreshMyRelayTokens);

export const deleteMyRelayToken = changing(
  (id: string) => unwrap(api.my["relay-tokens"]({ id: toPathPart(id) }).delete()),
  refreshMyRelayTokens,
);

async function refreshMyKeys(client: QueryClient): Promise<void> {
  await makeStale(client, [KEYS.myKeys, KEYS.keys]);
}

async function refreshMyRelayTokens(client: QueryClient): Promise<void> {
  await makeStale(client, [KEYS.myRelayTokens, KEYS.relayTokens]);
}
