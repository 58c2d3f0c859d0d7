import type { ReplicaHealth } from "#usage/health.ts";
import { type MetricFamily, toGauge } from "./exposition.ts";

/** Told by a process that shares its database with others, and by no other. `limitsAgeMs`: see `Limits.peersAgeMs`. */
export function toReplicaFamilies(
  replica: ReplicaHealth | null,
  limitsAgeMs: number,
): readonly MetricFamily[] {
  if (replica === null) return [];
  return [
    toGauge(
      "proxy_database_up",
      "1 while PostgreSQL answers this replica, 0 from the first question that it did not answer.",
      replica.isDatabaseUp ? 1 : 0,
    ),
    toGauge(
      "proxy_database_trust_seconds",
      "How long this replica would still serve without an answer of PostgreSQL; at 0 requests are refused.",
      replica.trustLeftSeconds,
    ),
    toGauge(
      "proxy_change_barrier_seconds",
      "How long the last change made here waited until every replica knew of it.",
      replica.barrierSeconds,
    ),
    toGauge(
      "proxy_spool_bytes",
      "What this replica has recorded and PostgreSQL does not have yet.",
      replica.spool.bytes,
    ),
    toGauge(
      "proxy_spool_age_seconds",
      "How long the oldest of it has been waiting; 0 when there is none.",
      replica.spool.ageSeconds,
    ),
    toGauge(
      "proxy_slots_borrowed",
      "Slots of max_concurrency that this replica holds, over all providers.",
      replica.slots,
    ),
    toGauge(
      "proxy_limits_age_seconds",
      "How old what this replica knows of the others' use of limits is; 0 where no limit needs it.",
      limitsAgeMs / 1000,
    ),
  ];
}
