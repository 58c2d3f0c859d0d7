import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * Files whose answers come out of storage: a run of all tests runs them on PostgreSQL too, as its part `postgres`. What is
 * decided before or after storage (framing, hosts, the page, words, screens) is the same on either engine, and tests/storage,
 * tests/oracle and tests/replicas hold the engines to each other. `npm run test:postgres -- FILE` runs any other one.
 */
const ON_BOTH_ENGINES: { readonly [folder: string]: readonly string[] } = {
  identity: ["key-rotation", "login-links", "principals", "secrets", "session-renewal", "sign-in", "sso"],
  http: [
    "admin-usage",
    "audit-change",
    "auth",
    "begotten-keys",
    "cost-change",
    "credentials",
    "failure-reports",
    "if-match",
    "key-models",
    "key-terms",
    "last-use",
    "lists",
    "metrics",
    "model",
    "models",
    "money",
    "my-usage",
    "nul",
    "openapi-errors",
    "people-file",
    "pricing",
    "principals",
    "providers",
    "rare-units",
    "focus",
    "reconcile",
    "removals",
    "requests",
    "response-kills",
    "responses",
    "secrets",
    "sessions",
    "settings",
    "sso",
    "statement",
    "stats",
    "unreadable-rows",
    "what-if",
  ],
  cli: [
    "apply",
    "apply-people",
    "both-ways",
    "commands",
    "follow",
    "import",
    "limit",
    "log-end",
    "notice",
    "prices",
    "reconcile",
    "removal",
    "reports",
    "request",
    "serve",
  ],
};

const PATHS: ReadonlySet<string> = new Set(
  Object.entries(ON_BOTH_ENGINES).flatMap(([folder, names]) =>
    names.map((name) => `tests/${folder}/${name}.test.ts`),
  ),
);

for (const path of PATHS)
  if (!existsSync(join(import.meta.dir, "../..", path))) throw new Error(`tests/run/engines.ts: no ${path}`);

export function runsOnPostgres(path: string): boolean {
  return PATHS.has(path);
}
