import { testCatalogContract } from "./contract-catalog.ts";
import { testLedgerContract } from "./contract-ledger.ts";
import { testLimitsContract } from "./contract-limits.ts";
import { testMemoryContract } from "./contract-memory.ts";
import { testNoticesContract } from "./contract-notices.ts";
import { testPeopleContract } from "./contract-people.ts";
import { testPrincipalsContract } from "./contract-principals.ts";
import { testReportsContract } from "./contract-reports.ts";
import { testSubjectsContract } from "./contract-subjects.ts";
import { testResponsesContract } from "./contract-responses.ts";
import { testRotationContract } from "./contract-rotation.ts";
import { testSecretsContract } from "./contract-secrets.ts";
import { testSessionsContract } from "./contract-sessions.ts";
import { testSpendContract } from "./contract-spend.ts";
import { testStorageSequences } from "./sequences.ts";
import type { CatalogEngine, Engine } from "./support.ts";

/** The promises of every storage engine. `createEngine` makes an empty one; a second engine is a file in `engines/`. */
export function testStorageContract(engineName: string, createEngine: () => Engine): void {
  testCatalogStoresContract(engineName, createEngine);
  testLedgerContract(engineName, createEngine);
  testSpendContract(engineName, createEngine);
  testReportsContract(engineName, createEngine, { ordersClashes: true, questions: 40 });
}

/** The promises of its catalog's stores. A run of a random history is some hundred calls. */
export function testCatalogStoresContract(
  engineName: string,
  createEngine: () => CatalogEngine,
  historyRuns = 6,
): void {
  testPrincipalsContract(engineName, createEngine);
  testSecretsContract(engineName, createEngine);
  testSessionsContract(engineName, createEngine);
  testSubjectsContract(engineName, createEngine);
  testCatalogContract(engineName, createEngine);
  testLimitsContract(engineName, createEngine);
  testPeopleContract(engineName, createEngine);
  testMemoryContract(engineName, createEngine);
  testNoticesContract(engineName, createEngine);
  testResponsesContract(engineName, createEngine);
  testRotationContract(engineName, createEngine);
  testStorageSequences(engineName, createEngine, { runs: historyRuns });
}
