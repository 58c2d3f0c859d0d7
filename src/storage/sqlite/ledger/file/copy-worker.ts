import { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";
import { toSetupError } from "#storage/files/setup-errors.ts";
import { serveWorker } from "#storage/threads/worker-server.ts";
import { readPosition } from "./database.ts";

/** Copies `usage.db` into an empty file (`snapshotLedger`). */
export interface CopyTasks {
  copy(files: CopyFiles): Copied;
}

interface CopyFiles {
  readonly path: string;
  readonly copyPath: string;
}

/** The segment is that of the copy's position. A SetupError would lose its class on the way. */
type Copied =
  | { readonly kind: "copied"; readonly segment: number }
  | { readonly kind: "refused"; readonly reason: SetupError["kind"]; readonly message: string };

const BUSY_TIMEOUT_MS = 5_000;
const CACHE_KIB = 65_536;

serveWorker(() => ({ tasks: { copy } satisfies CopyTasks, close: () => {} }));

function copy({ path, copyPath }: CopyFiles): Copied {
  try {
    return { kind: "copied", segment: copyInto(path, copyPath) };
  } catch (cause) {
    const refusal = toSetupError(path, cause);
    if (!(refusal instanceof SetupError)) throw cause;
    return { kind: "refused", reason: refusal.kind, message: refusal.message };
  }
}

function copyInto(path: string, copyPath: string): number {
  using source = new Database(path, { readwrite: true, strict: true });
  source.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  source.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  // Holds for the copy, which is read only once it is complete: an interrupted one is thrown away.
  source.run("PRAGMA synchronous = OFF");
  source.query<unknown, [string]>("VACUUM INTO ?").run(copyPath);
  using made = new Database(copyPath, { readwrite: true, strict: true });
  // No server has the copy.
  made.run("UPDATE server_run SET lock_file = ''");
  return readPosition(made).segment;
}
