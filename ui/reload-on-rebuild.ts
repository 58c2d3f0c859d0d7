/** Loads the page again, in development, when another build of it is served. Full reloads, since hot updates break the router. */
import { findServedBuild, readOwnBuild } from "./stale.ts";

const POLL_MS = 500;

const own = readOwnBuild();
setInterval(async () => {
  const served = await findServedBuild();
  if (served !== null && served !== own) location.reload();
}, POLL_MS);
