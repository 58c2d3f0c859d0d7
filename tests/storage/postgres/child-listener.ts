/** Listens on `hints` until stdin ends, asks every 100 ms, and prints `notified`, and `lost` where there is no answer. */
import { createLog } from "#kernel/log.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";

const [, , url = ""] = process.argv;
const log = createLog({ level: "error", json: true, write: () => {}, timestamp: () => "" });
const postgres = await openPostgres({
  target: { url, schema: "public" },
  purpose: "test",
  connectionsMax: 1,
  callMsMax: 500,
  log,
});
const stop = await postgres.listen("hints", () => console.log("notified"));
const asking = setInterval(() => void postgres.all("SELECT 1").catch(() => console.log("lost")), 100);
await Bun.stdin.text();
clearInterval(asking);
await stop();
await postgres.close();
