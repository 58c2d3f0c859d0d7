import { join, relative } from "node:path";

export const root = join(import.meta.dir, "../..");

export interface Part {
  readonly name: "programs" | "browser" | "clients";
  /** Processes side by side. A browser's test mostly waits for the browser. */
  readonly workers: number;
  /** Only where time is the machine's affair. */
  readonly retries: number;
  /** Whether each file has a module graph of its own, which costs it a fifth of a second: clients leave things in the global object. */
  readonly isIsolated: boolean;
  /** Files that take longest, the longest first: begun last, one of them would leave the other cores idle. */
  readonly longest: readonly string[];
  has(path: string): boolean;
}

const inBrowser = (path: string) => path.startsWith("tests/browser/");
const ofClients = (path: string) => path.startsWith("tests/clients/");

/** Those without the browser run one after the other, and beside them the browser's. */
export const PARTS: readonly Part[] = [
  {
    name: "programs",
    workers: 2,
    retries: 0,
    isIsolated: false,
    longest: [
      "docs/commands",
      "catalog/whole-catalog",
      "ledger/writer",
      "cli/reports",
      "storage/sqlite",
      "http/sso",
      "cli/lost-output",
      "demo/fill",
    ],
    has: (path) => !inBrowser(path) && !ofClients(path),
  },
  { name: "clients", workers: 2, retries: 0, isIsolated: true, longest: [], has: ofClients },
  {
    name: "browser",
    workers: 3,
    retries: 2,
    isIsolated: false,
    longest: [
      "hostile",
      "member-day",
      "admin-day",
      "bad-days",
      "models-admin",
      "vitals",
      "narrow",
      "keys",
    ].map((name) => `browser/${name}`),
    has: inBrowser,
  },
];

/** The files of tests below the folders or files that are named, all of them when none is; relative to the root. */
export function findFiles(wanted: readonly string[]): readonly string[] {
  const under = wanted.map((one) => relative(root, join(process.cwd(), one)));
  return [...new Bun.Glob("tests/**/*.test.ts").scanSync(root)]
    .filter((path) => under.length === 0 || under.some((one) => path === one || path.startsWith(`${one}/`)))
    .toSorted();
}
