/** The result of one test, as the last line about it says. */
interface Result {
  readonly kind: "pass" | "fail" | "skip" | "todo";
  readonly name: string;
  /** From 1; a test that is tried again has more. */
  readonly attempt: number;
}

export interface FolderResults {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Results {
  /** By folder below `tests`, in order. */
  readonly folders: ReadonlyMap<string, FolderResults>;
  /** Tests that passed when they were tried again: file and name. */
  readonly retried: readonly string[];
  /** Tests that failed, also a property that failed at first: file and name. */
  readonly failed: readonly string[];
  /** Files of which a test came to something. */
  readonly files: ReadonlySet<string>;
}

export interface ResultReader {
  /** Takes the runner's output line by line; what is to be shown at once comes back. */
  take(line: string): readonly string[];
  end(): Results;
}

const FILE = /^(tests\/\S+\.test\.ts):$/;
const RESULT = /^\((pass|fail|skip|todo)\) (.*?)(?: \(attempt (\d+)\))?(?: \[[\d.]+m?s\])?$/;
/** What fast-check says: its next try has other examples, so that it passes proves nothing. */
const PROPERTY = /^error: Property (?:failed|interrupted)/;
/** After the last file the runner repeats what failed and what was skipped, and counts. */
const END = /^\d+ tests? (?:failed|skipped|todo):$|^ *\d+ (?:pass|fail|skip)$/;

/**
 * Reads what `bun test` writes: of tests that pass at once nothing is shown, of those that fail, or pass when tried again, what
 * was written since the one before.
 */
export function createResultReader(): ResultReader {
  const folders = new Map<string, FolderResults>();
  const [retried, failed]: [string[], string[]] = [[], []];
  const files = new Set<string>();
  let file = "";
  let said: string[] = [];
  let isOver = false;
  return {
    take(line) {
      if (isOver) return [];
      const [, nextFile] = FILE.exec(line) ?? [];
      if (nextFile !== undefined) {
        // What stands after the last test of a file belongs to no test: a file that could not be read, say.
        const left = toErrors(file, said);
        [file, said] = [nextFile, []];
        return left;
      }
      if (END.test(line)) {
        isOver = true;
        return toErrors(file, said);
      }
      const result = readResult(line);
      if (result === null) {
        said.push(line);
        return [];
      }
      const isRetried = result.kind === "pass" && result.attempt > 1;
      const kind = isRetried && said.some((one) => PROPERTY.test(one)) ? "fail" : result.kind;
      const shown = kind === "fail" || isRetried ? ["", `${file}:`, ...said, line] : [];
      said = [];
      files.add(file);
      const name = `${file} > ${result.name}`;
      if (kind === "fail") failed.push(name);
      else if (isRetried) retried.push(name);
      const folder = toFolder(file);
      folders.set(folder, add(folders.get(folder), kind));
      return shown;
    },
    end: () => {
      const sorted = [...folders].toSorted(([one], [other]) => one.localeCompare(other));
      return { folders: new Map(sorted), retried, failed, files };
    },
  };
}

function readResult(line: string): Result | null {
  const [, kind, name = "", attempt = "1"] = RESULT.exec(line) ?? [];
  if (kind !== "pass" && kind !== "fail" && kind !== "skip" && kind !== "todo") return null;
  return { kind, name, attempt: Number(attempt) };
}

function toErrors(file: string, said: readonly string[]): readonly string[] {
  return said.some((line) => /^(?:# Unhandled error|error: )/.test(line)) ? ["", `${file}:`, ...said] : [];
}

const toFolder = (file: string) => file.split("/").slice(0, -1).slice(0, 2).join("/");

function add(
  { passed, failed, skipped }: FolderResults = { passed: 0, failed: 0, skipped: 0 },
  kind: Result["kind"],
): FolderResults {
  return {
    passed: passed + (kind === "pass" ? 1 : 0),
    failed: failed + (kind === "fail" ? 1 : 0),
    skipped: skipped + (kind === "skip" || kind === "todo" ? 1 : 0),
  };
}
