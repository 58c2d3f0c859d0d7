import { statSync } from "node:fs";
import type { Exchange } from "#forward/exchange.ts";
import type { Refusals } from "#http/door/refusals.ts";
import { type MetricFamily, type MetricLabels, type MetricSample, toCounter, toGauge } from "./exposition.ts";
import { LAG_BOUNDS_MS, type LoopLag } from "#kernel/loop-lag.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import { INTERFACE_VERSION, PRODUCT_COMMIT, PRODUCT_VERSION } from "#kernel/version.ts";
import type { Limits } from "#limits/limits.ts";
import type { Notices } from "#notices/notices.ts";
import { OUTCOMES } from "#usage/event.ts";
import type { LedgerGauges, ReplicaHealth, StorageHealth } from "#usage/gauges.ts";
import type { UnitSeries, UsageMetrics } from "#usage/metrics.ts";

/** The sources of the figures. Each answers from memory, so that it can be asked whatever else fails. */
export interface MetricsSources {
  readonly usage: Omit<UsageMetrics, "open">;
  readonly limits: Pick<Limits, "refusals" | "peersAgeMs">;
  /** Null: no notices are sent. */
  readonly notices: Pick<Notices, "counts" | "waitingCount"> | null;
  readonly exchange: Pick<Exchange, "activeCount" | "activeStreamCount" | "waitingCount">;
  readonly ledger: () => LedgerGauges;
  readonly health: () => StorageHealth;
  readonly loopLag: Pick<LoopLag, "histogram" | "maxMs">;
  readonly refusals: Pick<Refusals, "counts">;
}

/** The metrics of the process and its parts (specification, section 6; `docs/metrics.md`): some 50 samples. */
export function collectProcess(sources: MetricsSources, startedAtSeconds: number): readonly MetricFamily[] {
  return [
    BUILD_INFO,
    ...toExchangeFamilies(sources.exchange),
    toRefusalFamily(sources.refusals),
    toLimitFamily(sources.limits),
    ...toNoticeFamilies(sources.notices),
    ...toLedgerFamilies(sources.ledger()),
    ...toReplicaFamilies(sources.health().replica, sources.limits.peersAgeMs()),
    ...toLoopLagFamilies(sources.loopLag),
    ...readProcessFamilies(startedAtSeconds),
  ];
}

/** The metrics of usage: up to four samples and more for each label set. Labels never name a principal. */
export function collectUsage(usage: MetricsSources["usage"]): readonly MetricFamily[] {
  const requests = usage.requests();
  return [
    {
      name: "proxy_requests_total",
      kind: "counter",
      help: "Requests that were accounted for, by outcome.",
      samples: requests.flatMap((series) =>
        OUTCOMES.map((outcome) => ({
          labels: { ...series.labels, outcome },
          value: series.requests[outcome],
        })),
      ),
    },
    {
      name: "proxy_request_seconds",
      kind: "summary",
      help: "Seconds from a request's arrival to its end, whatever its outcome.",
      samples: requests.flatMap(({ labels, requests: counts, durationUs }): readonly MetricSample[] => [
        { suffix: "_sum", labels, value: durationUs / 1e6 },
        { suffix: "_count", labels, value: OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0) },
      ]),
    },
    {
      name: "proxy_usage_units_total",
      kind: "counter",
      help: "Metered quantities as in the reports: input_tokens without what was read from a cache.",
      samples: usage.units().flatMap(toUnitSamples),
    },
    {
      name: "proxy_unmetered_total",
      kind: "counter",
      help: "Requests that ended without their usage, so without cost: answers that told none, also of endpoints that no meter knows, and callers that left before it was told.",
      samples: requests.map(({ labels, unmeteredCount }) => ({ labels, value: unmeteredCount })),
    },
    {
      name: "proxy_unpriced_units_total",
      kind: "counter",
      help: "The part of the metered quantities that had no price: growth signals a gap in the prices, or with a `reason` a service tier or a region that has none.",
      samples: usage.unpricedUnits().flatMap(toUnitSamples),
    },
    {
      name: "proxy_unpriced_requests_total",
      kind: "counter",
      help: "Requests that used something without a price; `reason` is the kind of condition that no price names: `tier` or `geo`.",
      samples: [...usage.unpricedRequests()].map(([reason, value]) => ({
        labels: reason === null ? {} : { reason },
        value,
      })),
    },
  ];
}

function toUnitSamples({ labels, quantities }: UnitSeries<MetricLabels>): readonly MetricSample[] {
  return REPORT_UNITS.flatMap((unit) => {
    const value = quantities[unit];
    return value === undefined ? [] : [{ labels: { ...labels, unit }, value }];
  });
}

/** As programs tell their version: a label of a 1, to be joined with other metrics. */
const BUILD_INFO: MetricFamily = {
  name: "proxy_build_info",
  kind: "gauge",
  help: "1, labelled with the version of Lockport, the commit of its executable, and the version of its interface.",
  samples: [
    {
      labels: {
        version: PRODUCT_VERSION,
        commit: PRODUCT_COMMIT ?? "",
        interface_version: INTERFACE_VERSION,
      },
      value: 1,
    },
  ],
};

function toExchangeFamilies(exchange: MetricsSources["exchange"]): readonly MetricFamily[] {
  return [
    toGauge(
      "proxy_open_exchanges",
      "Requests that passed their checks and are not accounted for yet.",
      exchange.activeCount(),
    ),
    toGauge(
      "proxy_open_streams",
      "Of the open exchanges, those whose request asked for a stream.",
      exchange.activeStreamCount(),
    ),
    toGauge(
      "proxy_waiting_exchanges",
      "Of the open exchanges, those that wait because of max_concurrency.",
      exchange.waitingCount(),
    ),
  ];
}

function toRefusalFamily(refusals: MetricsSources["refusals"]): MetricFamily {
  return {
    name: "proxy_refusals_total",
    kind: "counter",
    help: "Requests of the data plane that were refused and left no usage event, and wrong credentials anywhere.",
    samples: [...refusals.counts()].map(([code, value]) => ({ labels: { code }, value })),
  };
}

function toLimitFamily(limits: MetricsSources["limits"]): MetricFamily {
  return {
    name: "proxy_limit_refusals_total",
    kind: "counter",
    help: "Requests that a limit has refused, by what it measures; window is empty for concurrent requests.",
    samples: limits.refusals().map(({ measure, window, count }) => ({
      labels: { measure, window: window ?? "" },
      value: count,
    })),
  };
}

function toNoticeFamilies(notices: MetricsSources["notices"]): readonly MetricFamily[] {
  return [
    {
      name: "proxy_notices_total",
      kind: "counter",
      help: "Notices that their webhook took, or that were dropped after an hour or because too many waited.",
      samples: (notices?.counts() ?? []).map(({ type, result, count }) => ({
        labels: { type, result },
        value: count,
      })),
    },
    toGauge(
      "proxy_notices_waiting",
      "Notices that have not reached their webhook yet.",
      notices?.waitingCount() ?? 0,
    ),
  ];
}

function toLoopLagFamilies(loopLag: MetricsSources["loopLag"]): readonly MetricFamily[] {
  const { counts, count, sumMs } = loopLag.histogram();
  return [
    {
      name: "proxy_event_loop_lag_seconds",
      kind: "histogram",
      help: "How late the event loop was, looked at 50 times a second.",
      samples: [
        ...counts.map((value, index): MetricSample => ({
          suffix: "_bucket",
          labels: { le: String((LAG_BOUNDS_MS[index] ?? 0) / 1000) },
          value,
        })),
        { suffix: "_bucket", labels: { le: "+Inf" }, value: count },
        { suffix: "_sum", value: sumMs / 1000 },
        { suffix: "_count", value: count },
      ],
    },
    toGauge(
      "proxy_event_loop_lag_max_seconds",
      "The longest lag of the last one to two minutes.",
      loopLag.maxMs() / 1000,
    ),
  ];
}

/** The journal, the writer that brings it into the database, and the readers of reports. */
function toLedgerFamilies(gauges: LedgerGauges): readonly MetricFamily[] {
  return [
    toCounter(
      "proxy_files_lost_total",
      "Files of the data folder that were removed or replaced while the server had them open.",
      gauges.filesLost,
    ),
    toGauge("proxy_files_missing", "Of those, how many are not back under their name.", gauges.filesMissing),
    toGauge(
      "proxy_journal_pending_bytes",
      "Usage records in memory that the disk refuses; no new request is served meanwhile.",
      gauges.journalPendingBytes,
    ),
    toGauge(
      "proxy_journal_reserved_bytes",
      "Room on the disk reserved for usage records: a mebibyte or more unless the disk is full; below half of one, new requests are refused.",
      gauges.journalReservedBytes,
    ),
    toGauge(
      "proxy_journal_uncommitted_bytes",
      "Bytes of the usage journal that are not in the database yet.",
      gauges.journalUncommittedBytes,
    ),
    toGauge(
      "proxy_writer_running",
      "1 while the usage writer runs, 0 between its death and its restart.",
      gauges.writerRunning ? 1 : 0,
    ),
    toCounter("proxy_writer_commits_total", "Batches that the usage writer committed.", gauges.writerCommits),
    toCounter(
      "proxy_writer_events_total",
      "Usage events in these batches, also those left behind by an earlier process.",
      gauges.writerEvents,
    ),
    toCounter(
      "proxy_writer_failures_total",
      "Attempts of the usage writer that failed and were made again: a lock, a full disk.",
      gauges.writerFailures,
    ),
    toGauge(
      "proxy_writer_last_commit_seconds",
      "How long the last batch took, its sync to the disk included.",
      gauges.writerLastCommitMs / 1000,
    ),
    toGauge(
      "proxy_reader_waiting_queries",
      "Reports that are being read or wait for it.",
      gauges.readerWaiting,
    ),
    toGauge(
      "proxy_ledger_combinations",
      "Distinct combinations of caller, model, client, tags and the like in the ledger: what makes reports slow when it grows fast.",
      gauges.combinations,
    ),
  ];
}

/** The process's own figures, under the names that Prometheus client libraries give them. */
function readProcessFamilies(startedAtSeconds: number): readonly MetricFamily[] {
  const cpu = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const openFiles = countOpenFiles();
  return [
    toCounter(
      "process_cpu_seconds_total",
      "CPU time spent, user and system, in seconds.",
      (cpu.user + cpu.system) / 1e6,
    ),
    toGauge("process_resident_memory_bytes", "Resident memory in bytes.", rss),
    toGauge(
      "process_start_time_seconds",
      "Start of the process, in seconds since the Unix epoch.",
      startedAtSeconds,
    ),
    ...(openFiles === null
      ? []
      : [toGauge("process_open_fds", "Open file descriptors; Linux 6.2 and later only.", openFiles)]),
    toGauge(
      "proxy_heap_used_bytes",
      "Memory of the JavaScript heap that is in use; native buffers are not in it.",
      heapUsed,
    ),
  ];
}

/**
 * Linux tells the number as the size of this folder since 6.2 (proc_pid_fd(5)); before, it is 0. The folder is not listed,
 * since that takes a descriptor itself, and thousands of entries when it matters.
 */
function countOpenFiles(): number | null {
  const size = statSync("/proc/self/fd", { throwIfNoEntry: false })?.size ?? 0;
  return size > 0 ? size : null;
}

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
