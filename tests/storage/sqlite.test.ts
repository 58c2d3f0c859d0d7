import { testStorageContract } from "./contract.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";

testStorageContract("sqlite", createSqliteEngine);
