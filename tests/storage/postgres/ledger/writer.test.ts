import { afterAll, beforeAll, describe } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { describeSealing } from "../../../ledger/contract-sealing.ts";
import { describeSettlements } from "../../../ledger/contract-settlement.ts";
import { describeWriter } from "../../../ledger/contract-writer.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { createDatabase, type TestDatabase } from "../support.ts";
import { createWriterBench } from "./writer-bench.ts";

describe.skipIf(postgresMissing !== null)("the writer", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockport-writer-"));
  let database: TestDatabase;
  let counter = 0;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const createBench = (readBytesMax?: number) =>
    createWriterBench(database.postgres, join(folder, String((counter += 1))), readBytesMax);
  // Fewer: which bytes make a line, and what is added up, is decided by code that both engines share.
  describeWriter("PostgreSQL", createBench, { cutStride: 6, runs: 6, dialect: POSTGRES });
  describeSettlements("PostgreSQL", createBench, { runs: 12 });
  describeSealing("PostgreSQL", createBench);
});
