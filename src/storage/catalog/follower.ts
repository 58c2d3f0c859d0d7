import type { Script } from "#storage/sql/script.ts";
import { type CatalogVersion, type Change, isSameVersion, readChanges, readVersion } from "./change.ts";

/** What a process remembers of the catalog. */
export interface Memory {
  /**
   * Reads again what has changed, or everything (null). What is returned takes over all of it, without a wait. One change may
   * be told more than once.
   */
  read(changes: readonly Change[] | null): Script<() => void>;
}

/** Keeps memory at a version of the catalog: what was read is taken over only where memory is still what it was read for. */
export class Follower {
  readonly #memory: Memory;
  #applied: CatalogVersion | null = null;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Null before everything was read. */
  get applied(): CatalogVersion | null {
    return this.#applied;
  }

  isAt(version: CatalogVersion): boolean {
    return isSameVersion(this.#applied, version);
  }

  /** Everything is read again. */
  forget(): void {
    this.#applied = null;
  }

  /**
   * Reads what memory lacks of the version that the transaction sees. What is returned brings memory to it; false: memory is
   * at another version by now, and has to follow again. `onForeign` is called as soon as memory turns out to be of another
   * history: the database was restored.
   */
  *follow(onForeign = () => {}): Script<() => boolean> {
    // Before the transaction sees anything: an own change that is committed meanwhile must not be taken back.
    const from = this.#applied;
    const now = yield* readVersion();
    if (isSameVersion(from, now)) return () => true;
    const changes = from === null ? null : yield* readChanges(from, now);
    if (this.#applied !== from) return () => false;
    if (changes === "foreign") {
      onForeign();
      this.#applied = null;
    }
    const start = this.#applied;
    const install = yield* this.#memory.read(changes === "foreign" ? null : changes);
    return () => this.#moveOn(start, now, install);
  }

  /** Reads what the transaction has changed itself, for `next`, the version that it makes. To be called when it is committed. */
  *readOwn(changes: readonly Change[], next: CatalogVersion): Script<() => boolean> {
    const from = this.#applied;
    const install = yield* this.#memory.read(changes);
    return () => this.#moveOn(from, next, install);
  }

  #moveOn(from: CatalogVersion | null, to: CatalogVersion, install: () => void): boolean {
    if (this.#applied !== from) return false;
    install();
    this.#applied = to;
    return true;
  }
}
