import type { LedgerGauges } from "#usage/gauges.ts";
import { type MetricFamily, toCounter, toGauge } from "./exposition.ts";

/** The journal, the writer that brings it into the database, and the readers of reports. */
export function toLedgerFamilies(gauges: LedgerGauges): readonly MetricFamily[] {
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
