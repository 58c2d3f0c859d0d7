/** A process to be killed: says that it begins, and brings a usage.db to this version's schema. Run: bun child-upgrade.ts <path> */
import { writeSync } from "node:fs";
import { prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";

const path = process.argv[2]!;
writeSync(1, "begins\n");
prepareUsageDatabase(path);
writeSync(1, "done\n");
