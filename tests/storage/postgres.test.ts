import { describe } from "bun:test";
import { postgresMissing } from "../support/postgres.ts";
import { testLedgerContract } from "./contract-ledger.ts";
import { testReportsContract } from "./contract-reports.ts";
import { testSpendContract } from "./contract-spend.ts";
import { createPostgresEngine } from "./engines/postgres.ts";

describe.skipIf(postgresMissing !== null)("on PostgreSQL", () => {
  testLedgerContract("postgres", createPostgresEngine);
  testSpendContract("postgres", createPostgresEngine);
  // A batch is one statement: what was refused for its id gets another after the rest. Fewer questions: tests/oracle/postgres
  // asks the same of both engines.
  testReportsContract("postgres", createPostgresEngine, { ordersClashes: false, questions: 16 });
});
