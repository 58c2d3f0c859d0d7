import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { type EndedRequests, toFailedShare } from "#stats/client-changes.ts";
import { toCost } from "#stats/series.ts";
import type { ClientChanges, RetryStorms } from "#stats/store.ts";

/** Reports on failures → wire JSON. */

export function toClientChangesView({ window, changes }: ClientChanges, nowUs: InstantUs) {
  return {
    since: window.sinceUs === null ? null : formatInstant(window.sinceUs),
    until: formatInstant(window.untilUs ?? nowUs),
    clients: changes.map(({ client, name, version, sinceUs, now, beforeOf, before, elsewhere }) => ({
      client,
      name,
      version,
      since: formatInstant(sinceUs).slice(0, DATE_LENGTH),
      now: toSideView(now),
      before: { of: beforeOf, ...toSideView(before) },
      elsewhere: toSideView(elsewhere),
    })),
  };
}

const DATE_LENGTH = "2026-03-11".length;

function toSideView(side: EndedRequests) {
  const { ok, failed } = side;
  return { requests: ok + failed, failed, share: toFailedShare(side) };
}

export function toRetryStormsView({ storms, total }: RetryStorms, labelOf: (keyId: string) => string | null) {
  return {
    storms: storms.map((storm) => ({
      principal: storm.principal,
      key_id: storm.keyId,
      key_label: storm.keyId === null ? null : labelOf(storm.keyId),
      relay_token_id: storm.relayTokenId,
      model: storm.model,
      client: storm.client,
      attempts: storm.attempts,
      failed: storm.failed,
      input_tokens: storm.inputTokens,
      cost: toCost(storm.costPico),
      first_at: formatInstant(storm.firstUs),
      last_at: formatInstant(storm.lastUs),
    })),
    total: { storms: total.storms, attempts: total.attempts, cost: toCost(total.costPico) },
  };
}
