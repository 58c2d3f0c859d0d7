import { testCatalogContract } from "./contract-catalog.ts";
import { testKeysContract } from "./contract-keys.ts";
import { testPrincipalsContract } from "./contract-principals.ts";
import { testRelayTokensContract } from "./contract-relay-tokens.ts";
import { testSubjectsContract } from "./contract-subjects.ts";
import { testStorageSequences } from "./sequences.ts";
import type { Engine } from "./support.ts";

/** What every storage engine promises. `createEngine` makes an empty one; its connections share one set of data. */
export function testStorageContract(engineName: string, createEngine: () => Engine): void {
  testPrincipalsContract(engineName, createEngine);
  testKeysContract(engineName, createEngine);
  testRelayTokensContract(engineName, createEngine);
  testSubjectsContract(engineName, createEngine);
  testCatalogContract(engineName, createEngine);
  testStorageSequences(engineName, createEngine);
}
