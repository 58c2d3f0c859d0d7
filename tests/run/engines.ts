/** Folders of which every file but those below runs on PostgreSQL too, as the part `postgres` of a run. */
const ON_BOTH_ENGINES = ["tests/identity/", "tests/http/", "tests/cli/"];

export function runsOnPostgres(path: string): boolean {
  return ON_BOTH_ENGINES.some((folder) => path.startsWith(folder)) && SQLITE_ONLY[path] === undefined;
}

/**
 * Files of suites that run on either engine (`LOCKPORT_TEST_ENGINE=postgres`) but are for SQLite alone, with the reason.
 * A single test of that kind says its reason beside its `skipIf`.
 */
const SQLITE_ONLY: { readonly [path: string]: string } = {
  "tests/cli/backup.test.ts": "a backup is of files; tests/cli/postgres has pg_dump",
  "tests/cli/backup-mac.test.ts": "a backup is of files; tests/cli/postgres has pg_dump",
  "tests/cli/backup-target.test.ts": "a backup is of files; tests/cli/postgres has pg_dump",
  "tests/cli/restore.test.ts": "a restore puts files in place; tests/cli/postgres has pg_restore",
  "tests/cli/restore-killed.test.ts": "a restore puts files in place; tests/cli/postgres has pg_restore",
  "tests/cli/restore-source.test.ts": "a restore puts files in place; tests/cli/postgres has pg_restore",
  "tests/cli/progress.test.ts": "the progress of a backup",
  "tests/cli/doctor.test.ts":
    "files, their rights and their damage; tests/cli/doctor-postgres has the database",
  "tests/cli/local-open.test.ts": "which files a command opens, makes and locks",
  "tests/cli/rights.test.ts": "who may use the files of a data folder",
  "tests/cli/owner.test.ts": "whose the files of a data folder are",
  "tests/cli/bootstrap.test.ts": "the key file and the password file of a first start",
  "tests/cli/ledger-check.test.ts":
    "rows of usage.db are changed by hand; tests/storage/postgres has the check",
  "tests/cli/limit-check.test.ts":
    "rows of usage.db are changed by hand; tests/storage/postgres has the check",
  "tests/cli/migrate.test.ts": "its source is a folder of SQLite, its target a schema of its own",
};
