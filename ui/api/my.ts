import { queryOptions, type QueryClient } from "@tanstack/react-query";
import type { ReportQuery } from "../search/filters.ts";
import { changing } from "./changing.ts";
import { call, callWithHeaders } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";
import type { KeyRotation, RotatedKey, SecretDraft, SecretUpdate } from "./secret-change.ts";
import { reportQuery, type SeriesGroups, type SeriesQuery } from "./reports.ts";

/** What a caller has and used itself (specification, section 4.3). */

type OwnWindow = Pick<ReportQuery, "since" | "until">;

/** By model and endpoint. */
export function myUsageQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myUsage, window], (signal) =>
    callWithHeaders("GET /my/usage", { signal, query: { ...window } }),
  );
}

/** The figures of each model, failed requests among them. */
export function myBreakdownQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myBreakdown, window], (signal) =>
    callWithHeaders("GET /my/usage/breakdown", {
      signal,
      query: { ...window, by: "model", limit: OWN_MODELS_MAX },
    }),
  );
}

/** As many as one answer can have. */
const OWN_MODELS_MAX = 500;

export function mySeriesQuery(query: OwnWindow & Pick<SeriesQuery, "bucket"> & Partial<SeriesGroups>) {
  return reportQuery([...KEYS.mySeries, query], (signal) =>
    callWithHeaders("GET /my/usage/series", { signal, query: { ...query } }),
  );
}

export function myKeysQuery() {
  return queryOptions({
    queryKey: KEYS.myKeys,
    queryFn: async ({ signal }) => {
      const { keys: rows } = await call("GET /my/keys", { signal });
      return { rows, total: rows.length };
    },
  });
}

export const createMyKey = changing(
  (draft: SecretDraft) => call("POST /my/keys", { body: draft }),
  refreshMyKeys,
);

export const updateMyKey = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await call("PATCH /my/keys/:id", { params: { id }, body: patch });
}, refreshMyKeys);

/** Answers with the new secret. */
export const rotateMyKey = changing(
  ({ id, graceSeconds }: KeyRotation): Promise<RotatedKey> =>
    call("POST /my/keys/:id/rotate", { params: { id }, body: { grace_seconds: graceSeconds } }),
  refreshMyKeys,
);

export const deleteMyKey = changing(
  (id: string) => call("DELETE /my/keys/:id", { params: { id } }),
  refreshMyKeys,
);

/** Relay tokens, and whether the relay that takes them is on. */
export function myRelayTokensQuery() {
  return queryOptions({
    queryKey: KEYS.myRelayTokens,
    queryFn: async ({ signal }) => {
      const { data, headers } = await callWithHeaders("GET /my/relay-tokens", { signal });
      const rows = data.relay_tokens;
      return { rows, total: rows.length, isRelayOn: headers.get("x-proxy-relay") !== "off" };
    },
  });
}

export const createMyRelayToken = changing(
  (draft: SecretDraft) => call("POST /my/relay-tokens", { body: draft }),
  refreshMyRelayTokens,
);

export const updateMyRelayToken = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await call("PATCH /my/relay-tokens/:id", { params: { id }, body: patch });
}, refreshMyRelayTokens);

export const deleteMyRelayToken = changing(
  (id: string) => call("DELETE /my/relay-tokens/:id", { params: { id } }),
  refreshMyRelayTokens,
);

async function refreshMyKeys(client: QueryClient): Promise<void> {
  await makeStale(client, [KEYS.myKeys, KEYS.keys]);
}

async function refreshMyRelayTokens(client: QueryClient): Promise<void> {
  await makeStale(client, [KEYS.myRelayTokens, KEYS.relayTokens]);
}
