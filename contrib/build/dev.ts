/**
 * `npm run dev`: serves from source, starts the server anew when `src` changes, builds the page anew when `ui` or `src`
 * changes, and the browser loads it anew. What follows goes to `serve`: `npm run dev -- --port 4100 --data-dir /tmp/dev`.
 */
import { watch } from "node:fs";
import { join } from "node:path";
import { writeBuiltPage } from "./cache.ts";
import { describeFailure, buildPage } from "./page.ts";

const root = join(import.meta.dir, "../..");
/** An editor writes a file in several steps, and often more than one file. */
const QUIET_MS = 50;

let isBuilding = false;
let isChanged = false;
const firstBuild = Promise.withResolvers<void>();

let timer: Timer | undefined;
for (const folder of ["ui", "src"]) {
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => void build(), QUIET_MS);
  });
}
void build();
await firstBuild.promise;
const server = Bun.spawn({
  cmd: [
    process.execPath,
    "--no-env-file",
    "--watch",
    join(root, "src/main.ts"),
    "serve",
    ...process.argv.slice(2),
  ],
  stdio: ["inherit", "inherit", "inherit"],
});
// The terminal sends Ctrl-C to both; another signal comes here alone.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => server.kill("SIGTERM"));
process.exit(await server.exited);

/** One build at a time; what changed meanwhile is in the next one. A page that cannot be built leaves the last one in place. */
async function build(): Promise<void> {
  isChanged = true;
  if (isBuilding) return;
  isBuilding = true;
  while (isChanged) {
    isChanged = false;
    const startedAtMs = performance.now();
    try {
      const page = await buildPage({ mode: "development" });
      writeBuiltPage(page);
      firstBuild.resolve();
      console.error(`page ${page.buildId} built in ${(performance.now() - startedAtMs).toFixed(0)} ms`);
    } catch (failure) {
      console.error(describeFailure(failure));
    }
  }
  isBuilding = false;
}
