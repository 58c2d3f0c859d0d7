import { describe } from "bun:test";
import { postgresMissing } from "../support/postgres.ts";
import { testRepricingContract } from "./contract-repricing.ts";
import { testRepricingKills } from "./contract-repricing-kills.ts";
import { createPostgresEngine } from "./engines/postgres.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";

testRepricingContract("SQLite", createSqliteEngine);
testRepricingKills("SQLite", createSqliteEngine);
describe.skipIf(postgresMissing !== null)("on PostgreSQL", () => {
  testRepricingContract("PostgreSQL", createPostgresEngine);
  testRepricingKills("PostgreSQL", createPostgresEngine);
});
