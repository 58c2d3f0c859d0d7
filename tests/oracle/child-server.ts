/**
 * A server to be killed, whose clock its parent sets ahead; it tells its address once it listens. Run:
 * bun child-server.ts <data folder> <microseconds ahead>
 */
import { parseConfig } from "#boot/settings/config.ts";
import { startServer } from "#boot/server.ts";
import { createSystem } from "#boot/process/system.ts";
import { createSystemClock } from "#kernel/clock.ts";
import "../support/loopback.ts";

const [dataDir = "", ahead] = process.argv.slice(2);
let aheadUs = Number(ahead);
const clock = createSystemClock();
const config = parseConfig({
  PROXY_PORT: "0",
  PROXY_DATA_DIR: dataDir,
  PROXY_ADMIN_PASSWORD: "a password for tests",
});
const server = await startServer(config, {
  ...createSystem({ logLevel: "error" }),
  clock: { ...clock, nowUs: () => clock.nowUs() + aheadUs },
});
process.on("message", (us) => {
  aheadUs = Number(us);
  process.send?.({ kind: "set" });
});
process.on("SIGTERM", () => void server.stop().then(() => process.exit(0)));
const { keys, principals } = server.services.app;
const { plaintext: adminKey } = await keys.create(
  { principalId: (await principals.ensureAdmin()).id, label: "tests" },
  null,
);
process.send?.({ kind: "started", url: server.url, adminKey });
