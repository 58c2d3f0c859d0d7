import { testStorageContract } from "./contract.ts";
import { createSqliteEngine } from "./support.ts";

testStorageContract("sqlite", createSqliteEngine);
