import { join, relative } from "node:path";
import { runsOnPostgres } from "./engines.ts";

export const root = join(import.meta.dir, "../..");

export interface Part {
  readonly name: "programs" | "browser" | "clients" | "postgres";
  /** Parts of one lane run one after the other, lanes beside each other: a test waits now and then, which leaves no core idle. */
  readonly lane: 0 | 1;
  /** True when it runs only as a part of all, by its name, or where a path in it is named. */
  readonly isExtra: boolean;
  /** Processes side by side. A browser's test mostly waits for the browser. */
  readonly workers: number;
  /** As many where no other part runs beside it: a test waits for threads, processes and limits, and leaves its core idle. */
  readonly workersAlone?: number;
  /** The number of further tries of a test that failed. */
  readonly retries: number;
  /** True when each file has a module graph of its own, which costs it a fifth of a second: clients leave things in the global object. */
  readonly isIsolated: boolean;
  /** Files that take longest, the longest first: begun last, one of them would leave the other cores idle. */
  readonly longest: readonly string[];
  has(path: string): boolean;
}

const inBrowser = (path: string) => path.startsWith("tests/browser/");
const ofClients = (path: string) => path.startsWith("tests/clients/");

/**
 * Among 8,000 tests on a machine that others use as well, one runs out of time now and then. Who works on the code is told at
 * once.
 */
const RETRIES_ON_CI = process.env["CI"] === "true" ? 1 : 0;

export const PARTS: readonly Part[] = [
  {
    name: "programs",
    lane: 0,
    isExtra: false,
    workers: 2,
    workersAlone: 3,
    retries: RETRIES_ON_CI,
    isIsolated: false,
    longest: [
      "storage/postgres",
      "docs/commands",
      "storage/postgres/catalog",
      "storage/sqlite",
      "cli/migrate",
      "storage/postgres/ledger/writer",
      "replicas/deletions",
      "cli/reports",
      "storage/postgres/reports",
      "demo/fill",
      "cli/both-ways",
      "replicas/outages",
      "faults/upstreams",
      "replicas/kills",
      "replicas/restored",
      "http/sso",
      "cli/lost-output",
    ],
    has: (path) => !inBrowser(path) && !ofClients(path),
  },
  {
    name: "clients",
    lane: 0,
    isExtra: true,
    workers: 2,
    retries: RETRIES_ON_CI,
    isIsolated: true,
    longest: ["clients/quickstarts", "clients/snippets"],
    has: ofClients,
  },
  {
    name: "browser",
    lane: 1,
    isExtra: true,
    workers: 3,
    retries: 2,
    isIsolated: false,
    longest: ["hostile", "bad-days", "models-admin", "vitals", "narrow", "keys"].map(
      (name) => `browser/${name}`,
    ),
    has: inBrowser,
  },
  {
    name: "postgres",
    lane: 1,
    isExtra: true,
    workers: 2,
    retries: RETRIES_ON_CI,
    isIsolated: false,
    longest: [
      "cli/reports",
      "http/sso",
      "cli/both-ways",
      "http/requests",
      "http/auth-matrix",
      "identity/keys",
    ],
    has: runsOnPostgres,
  },
];

/** The files of tests below the folders or files that are named, all of them when none is; relative to the root. */
export function findFiles(wanted: readonly string[]): readonly string[] {
  const under = wanted.map((one) => relative(root, join(process.cwd(), one)));
  return [...new Bun.Glob("tests/**/*.test.ts").scanSync(root)]
    .filter((path) => under.length === 0 || under.some((one) => path === one || path.startsWith(`${one}/`)))
    .toSorted();
}
