import { fstatSync, statSync, type Stats } from "node:fs";
import { basename } from "node:path";
import { describeCause, type Log } from "#kernel/log.ts";
import { makePrivateFolder } from "./private-file.ts";

/** Tells a file from any other that takes its name, as long as it is open somewhere. Throws what the file system does. */
export function toFileIdentity(file: string | number): string {
  return spell(typeof file === "number" ? fstatSync(file) : statSync(file));
}

/** Null where there is no such file. Throws what else the file system does. */
export function findFileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : spell(found);
}

function spell({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** A file that was removed or replaced is noticed within this. */
const POLL_INTERVAL_MS = 1_000;

/** A file that a server has open, and that others may remove or replace under its name. */
export interface WatchedFile {
  /** Its name in the data folder. */
  readonly name: string;
  isInPlace(): boolean;
  /** Puts what the server has open back under its name; absent: an operator has to. */
  restore?(): void | Promise<void>;
  /** Keeps what is lost for the next start, at each poll: the server has another file open all the same. Instead of `restore`. */
  save?(): void;
}

/** The folder that the files are in. Its own parent is not made: what is gone with that was moved away, or is a mount. */
export function watchFolder(path: string): WatchedFile {
  return {
    name: basename(path),
    isInPlace: () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    restore: () => makePrivateFolder(path),
  };
}

/**
 * Polls the files that a server has open: what is written to a file without a name is gone when the server ends. Tells
 * of each loss once, and tries to put the file back at each poll.
 */
export class FileWatch {
  readonly #files: readonly WatchedFile[];
  readonly #log: Log;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #lost = new Set<WatchedFile>();
  readonly #busy = new Set<WatchedFile>();
  #lossCount = 0;

  constructor(files: readonly WatchedFile[], log: Log) {
    this.#files = files;
    this.#log = log;
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Files that were found removed or replaced, since the start. */
  get lossCount(): number {
    return this.#lossCount;
  }

  /** Lost files that are not back under their name. */
  get missingCount(): number {
    return this.#lost.size;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #poll(): void {
    for (const file of this.#files) if (!this.#busy.has(file)) void this.#check(file);
  }

  async #check(file: WatchedFile): Promise<void> {
    const { name } = file;
    this.#busy.add(file);
    const isNew = !this.#lost.has(file);
    try {
      if (file.isInPlace()) {
        this.#lost.delete(file);
        return;
      }
      this.#lost.add(file);
      if (isNew) {
        this.#lossCount += 1;
        this.#log.error("a file was removed or replaced while the server has it open", { file: name });
      }
      file.save?.();
      if (file.restore === undefined) return;
      await file.restore();
      this.#lost.delete(file);
      this.#log.warn("what the server has open is back under its name", { file: name });
    } catch (cause) {
      // Also where it cannot be looked for, as behind a file in place of the folder: told once, and not at each poll.
      this.#lost.add(file);
      if (isNew)
        this.#log.error(
          "a file could not be put back; tried again until it can: make the data folder usable before the server ends, since what is recorded meanwhile ends with it",
          { file: name, ...describeCause(cause) },
        );
    } finally {
      this.#busy.delete(file);
    }
  }
}
