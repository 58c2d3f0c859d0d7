/**
 * What is too long for every change, an hour and more: `bun tests/run/long.ts [--kills 500] [--bodies 1000000] …`. Each part's
 * count is an option, and 0 leaves it out; `--seed` repeats what chance did. Every figure is printed with its seed.
 */
import { parseArgs } from "node:util";
import { executable } from "../support/executable.ts";
import { root } from "./parts.ts";

interface LongPart {
  readonly option: string;
  readonly count: number;
  readonly variable: string;
  /** Files or folders of tests. */
  readonly tests: readonly string[];
}

const LONG_PARTS: readonly LongPart[] = [
  { option: "kills", count: 500, variable: "LOCKPORT_KILLS", tests: ["tests/binary/kills.test.ts"] },
  {
    option: "repricing-kills",
    count: 100,
    variable: "LOCKPORT_REPRICING_KILLS",
    tests: ["tests/storage/repricing.test.ts"],
  },
  { option: "stops", count: 200, variable: "LOCKPORT_STOPS", tests: ["tests/binary/stops.test.ts"] },
  {
    option: "restarts",
    count: 12,
    variable: "LOCKPORT_RESTARTS",
    tests: ["tests/binary/restarts.test.ts"],
  },
  {
    option: "wait-seconds",
    count: 300,
    variable: "LOCKPORT_FAULT_WAIT_SECONDS",
    tests: ["tests/faults/upstreams.test.ts"],
  },
  {
    option: "fault-seconds",
    count: 30,
    variable: "LOCKPORT_FAULT_SECONDS",
    tests: ["tests/faults/machine.test.ts"],
  },
  {
    option: "soak-seconds",
    count: 1_800,
    variable: "LOCKPORT_SOAK_SECONDS",
    tests: ["tests/faults/soak.test.ts"],
  },
  { option: "bodies", count: 1_000_000, variable: "LOCKPORT_BODIES", tests: ["tests/abuse/bodies.test.ts"] },
  { option: "tags", count: 1_000_000, variable: "LOCKPORT_TAGS", tests: ["tests/usage/tags.test.ts"] },
  {
    option: "auth-step",
    count: 1,
    variable: "LOCKPORT_AUTH_STEP",
    tests: ["tests/abuse/auth-matrix.test.ts"],
  },
  {
    option: "raw-requests",
    count: 500_000,
    variable: "LOCKPORT_RAW_REQUESTS",
    tests: ["tests/abuse/requests.test.ts"],
  },
  {
    option: "limit-kills",
    count: 20,
    variable: "LOCKPORT_LIMIT_KILLS",
    tests: ["tests/binary/limit-kills.test.ts"],
  },
  {
    option: "limit-sequences",
    count: 10_000,
    variable: "LOCKPORT_LIMIT_SEQUENCES",
    tests: ["tests/limits/model.test.ts"],
  },
  {
    option: "moved-events",
    count: 1_000_000,
    variable: "LOCKPORT_MOVED_EVENTS",
    tests: ["tests/oracle/postgres.test.ts"],
  },
  {
    option: "deletions",
    count: 1_000,
    variable: "LOCKPORT_DELETIONS",
    tests: ["tests/replicas/deletions.test.ts"],
  },
  {
    option: "replica-kills",
    count: 50,
    variable: "LOCKPORT_REPLICA_KILLS",
    tests: ["tests/replicas/kills.test.ts"],
  },
  {
    option: "responses",
    count: 1_000,
    variable: "LOCKPORT_RESPONSES",
    tests: ["tests/http/response-kills.test.ts"],
  },
  { option: "paths", count: 200_000, variable: "LOCKPORT_PATHS", tests: ["tests/abuse/paths.test.ts"] },
];

const options = new Map(LONG_PARTS.map(({ option }) => [option, { type: "string" as const }]));
const { values } = parseArgs({ options: { ...Object.fromEntries(options), seed: { type: "string" } } });
const given = new Map<string, string | undefined>(Object.entries(values));
const seed = given.get("seed");
await executable();
let failed = 0;
for (const { option, count, variable, tests } of LONG_PARTS) {
  const wanted = given.get(option) ?? String(count);
  if (!/^\d+$/.test(wanted)) throw new Error(`--${option} is a whole number`);
  if (wanted === "0") continue;
  console.log(`\n== ${option}: ${wanted}`);
  const startMs = performance.now();
  const run = Bun.spawn([process.execPath, "test", ...tests.map((path) => `./${path}`)], {
    cwd: root,
    env: {
      ...process.env,
      NO_COLOR: "1",
      [variable]: wanted,
      ...(seed === undefined ? {} : { LOCKPORT_SEED: seed }),
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await run.exited) !== 0) failed += 1;
  console.log(`== ${option}: ${Math.round((performance.now() - startMs) / 1000)} s`);
}
console.log(`\n${failed} parts failed`);
process.exitCode = failed === 0 ? 0 : 1;
