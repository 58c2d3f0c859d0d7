import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { segmentPath } from "#storage/journal/segments.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { pruneRows } from "#storage/cells/retention.ts";
import { sealCells } from "#storage/cells/maintenance.ts";
import { runStep } from "#storage/postgres/ledger/maintenance.ts";
import {
  PostgresWriter,
  type PostgresWriterOptions,
  type SpoolClaim,
} from "#storage/postgres/ledger/postgres-writer.ts";
import { UsageWriter, type WriterOptions } from "#storage/writer/writer.ts";
import type { UsageBeginning } from "#usage/event.ts";
import { ENDING, LineEncoder, NEW_YEAR_US, SUBJECT } from "../../../ledger/usage.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { silentLog } from "../../support.ts";
import type { BenchWriter, WriterBench } from "../../../ledger/contract-writer.ts";

/** A spool of a test: its journal, and the runs of it. */
export interface TestSpool {
  readonly lane: number;
  readonly journalDirectory: string;
  append(segment: number, bytes: Uint8Array): void;
  /** The next run of it. Segments that are committed go at once. */
  openWriter(changes?: WriterChanges): Promise<UsageWriter>;
}

export type WriterChanges = Partial<WriterOptions & PostgresWriterOptions>;

export async function createSpool(database: Postgres, directory: string, lane: number): Promise<TestSpool> {
  const journalDirectory = join(directory, `journal-${lane}`);
  mkdirSync(journalDirectory, { recursive: true });
  const id = `spool-${lane}`;
  await database.run("INSERT INTO spool (lane, id) VALUES ($1, $2)", [lane, id]);
  return {
    lane,
    journalDirectory,
    append: (segment, bytes) => appendFileSync(segmentPath(journalDirectory, segment), bytes),
    async openWriter(changes = {}) {
      const claim = await claimRun(database, lane);
      const engine = new PostgresWriter({ postgres: database, claim, log: silentLog, ...changes });
      return new UsageWriter({ engine, journalDirectory, onDamage: () => {}, keptMs: 0, ...changes });
    },
  };
}

/** Lines of requests with few different dimensions, in the first segment. */
export function createSource(spool: TestSpool) {
  const encoder = new LineEncoder();
  let sequence = 0;
  return {
    add(afterNewYearUs: number, client?: string) {
      sequence += 1;
      const subject: UsageBeginning = {
        ...SUBJECT,
        arrivedAtUs: NEW_YEAR_US + afterNewYearUs,
        client: client ?? `client/${sequence % 4}`,
        model: sequence % 3 === 0 ? "fast" : "slow",
      };
      spool.append(1, encoder.begin(1, sequence, subject));
      spool.append(
        1,
        encoder.end(1, sequence, { ...ENDING, costPico: 123_456_789_012n * BigInt(sequence % 17) }),
      );
    },
  };
}

export async function claimRun(database: Postgres, lane: number): Promise<SpoolClaim> {
  const [claim] = await database.all<SpoolClaim>(
    "UPDATE spool SET run = run + 1 WHERE lane = $1 RETURNING id, lane, run",
    [lane],
  );
  if (claim === undefined) throw new Error("there is no such spool");
  return claim;
}

/**
 * Everything that is recorded is forgotten: quicker than a schema of its own for every run of a property. Without the checks of
 * foreign keys, of which each reads every row that was just deleted: ten thousand combinations took seconds.
 */
const FORGET_SQL = [
  "open_request",
  "recorded_batch",
  "event",
  "pending_event",
  "settlement",
  "hour_total",
  "open_cell",
  "cells",
  "carried_total",
  "key_use",
  "combination",
  "spool",
]
  .map((table) => `DELETE FROM ${table};`)
  .toSpliced(0, 0, "SET LOCAL session_replication_role = replica;")
  .concat("UPDATE ledger_state SET pruned_before_us = 0, refused_before_us = 0;")
  .join(" ");

export async function createWriterBench(
  database: Postgres,
  directory: string,
  readBytesMax?: number,
): Promise<WriterBench> {
  await database.run(FORGET_SQL);
  const spool = await createSpool(database, directory, 1);
  const damage: { lines: number; tornBytes: number }[] = [];
  return {
    damage,
    journalDirectory: spool.journalDirectory,
    lane: spool.lane,
    checkTotals: async () => void (await checkPostgresTotals(database)),
    append: (segment, bytes) => spool.append(segment, bytes),
    async openWriter(): Promise<BenchWriter> {
      const writer = await spool.openWriter({
        onDamage: (seen) => damage.push(seen),
        ...(readBytesMax === undefined ? {} : { readBytesMax }),
      });
      return {
        writeBatch: () => writer.writeBatch(),
        seal: (beforeDay) => runStep(database, () => sealCells(beforeDay)),
        prune: (beforeUs) => runStep(database, () => pruneRows(beforeUs)),
        close: () => writer.close(),
      };
    },
    segments: () => [...new Bun.Glob("*.journal").scanSync(spool.journalDirectory)].length,
    read: async <Row>(sql: string) => [...(await database.all<Row>(sql))],
    [Symbol.asyncDispose]: async () => {},
  };
}
