import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { createFakeClock, toSecrets, silentLog } from "./support.ts";

/**
 * Another process that works on the same file, as a local command does. `open` waits for a line on stdin first, so that
 * several start at one moment. `as-nobody` gives the rights of root up and tries.
 */
const [command, path = ""] = process.argv.slice(2);
if (command === "open") {
  console.log("ready");
  for await (const _ of console) break;
}
if (command === "as-nobody") process.setuid?.(65_534);

try {
  const database = await openCatalogDatabase({
    path,
    secrets: toSecrets(),
    clock: createFakeClock(),
    log: silentLog,
  });
  await database.close();
  console.log("done");
} catch (cause) {
  console.log(
    cause instanceof Error && "kind" in cause
      ? `${cause.name} ${String(cause.kind)}: ${cause.message}`
      : String(cause),
  );
}
