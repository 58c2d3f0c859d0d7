import { joinNext } from "#kernel/join-next.ts";
import { DatabaseUnreachableError, STANDBY } from "#storage/postgres/connection/errors.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Change } from "#storage/catalog/change.ts";
import type { CatalogVersion } from "./replica-row.ts";

/** A copy of the catalog in memory. Both methods take over everything at their end, or throw and change nothing. */
export interface Memory {
  /** Reads everything, of one snapshot. */
  load(tx: Transaction): Promise<void>;
  /** Reads again what has changed. One change may be told more than once. */
  apply(tx: Transaction, changes: readonly Change[]): Promise<void>;
}

/** To read so many changes by themselves takes longer than to read everything. */
const CHANGES_MAX = 5_000;

export interface FollowerDeps {
  readonly postgres: Postgres;
  readonly memory: Memory;
  readonly onForeign: () => void;
}

/** Keeps memory at a version of the catalog. */
export class Follower {
  readonly #postgres: Postgres;
  readonly #memory: Memory;
  readonly #onForeign: () => void;
  #applied: CatalogVersion | null = null;
  /** Brings memory to the version that the database has by now, for all who wait together. */
  readonly follow = joinNext(() => this.#follow());

  /** `onForeign` is called as soon as memory turns out to be of another history: the database was restored. */
  constructor({ postgres, memory, onForeign }: FollowerDeps) {
    this.#postgres = postgres;
    this.#memory = memory;
    this.#onForeign = onForeign;
  }

  /** Null before the first `follow`. */
  get applied(): CatalogVersion | null {
    return this.#applied;
  }

  isAt({ version, token }: CatalogVersion): boolean {
    return this.#applied?.version === version && this.#applied.token === token;
  }

  /** Everything is read again by the next `follow`. */
  forget(): void {
    this.#applied = null;
  }

  /**
   * `follow`, where most calls find nothing new: one statement, and no transaction. Throws DatabaseUnreachableError for a
   * standby, which may not have the latest change.
   */
  async poll(): Promise<void> {
    const { isStandby, ...current } = await readVersion(this.#postgres);
    if (isStandby) throw new DatabaseUnreachableError(STANDBY, { mayBeCommitted: false });
    if (!this.isAt(current)) await this.follow();
  }

  async #follow(): Promise<void> {
    await this.#postgres.transaction(
      async (tx) => {
        const current = await readVersion(tx);
        if (this.isAt(current)) return;
        const changes = this.#applied === null ? null : await readChanges(tx, this.#applied, current);
        if (changes === "foreign") this.#onForeign();
        if (changes === null || changes === "foreign") {
          this.#applied = null;
          await this.#memory.load(tx);
        } else {
          await this.#memory.apply(tx, changes);
        }
        this.#applied = current;
      },
      { isReadOnly: true, isolation: "repeatable read", callMsMax: STATEMENT_MS_MAX.load },
    );
  }
}

async function readVersion(sql: Sql): Promise<CatalogVersion & { readonly isStandby: boolean }> {
  const [current] = await sql.all<CatalogVersion & { readonly isStandby: boolean }>(
    'SELECT version, token, pg_is_in_recovery() AS "isStandby" FROM catalog_state',
  );
  if (current === undefined) throw new TypeError("catalog_state has no row");
  return current;
}

interface ChangeRow extends CatalogVersion {
  readonly kind: Change["kind"];
  readonly rowId: string | null;
}

/** Null: there is more than is kept, or than is worth reading by itself. */
async function readChanges(
  tx: Transaction,
  from: CatalogVersion,
  to: CatalogVersion,
): Promise<readonly Change[] | "foreign" | null> {
  if (to.version <= from.version) return "foreign";
  const rows = await tx.all<ChangeRow>(
    `SELECT version, token, kind, row_id AS "rowId" FROM change_log
     WHERE version >= $1 ORDER BY version, ordinal LIMIT $2`,
    [from.version, CHANGES_MAX + 1],
  );
  const [known] = rows;
  // The version of memory is no longer in the log: it was trimmed, or is of another history, which this cannot tell apart.
  if (known?.version !== from.version) return null;
  if (known.token !== from.token) return "foreign";
  if (rows.length > CHANGES_MAX) return null;
  const changes = new Map<string, Change>();
  for (const { version, kind, rowId } of rows)
    if (version > from.version) changes.set(`${kind} ${rowId ?? ""}`, { kind, id: rowId });
  return [...changes.values()];
}

/** Any role of the database may send hints, as many as it likes: what answers them is done 200 times a second at most. */
const HINT_MS_MIN = 5;

export interface HintsDeps {
  readonly postgres: Pick<Postgres, "all" | "listen">;
  readonly schema: string;
}

/**
 * Notifications that there is something to ask for. They say nothing by themselves, and whatever is told by one is found
 * without it by the next heartbeat: any role may forge them, and may fill the queue of the server, so that none is sent.
 */
export class Hints {
  readonly #deps: HintsDeps;
  readonly #channel: string;

  constructor(deps: HintsDeps) {
    this.#deps = deps;
    this.#channel = toChannel(deps.schema);
  }

  /** Never within a transaction: a notification that is refused would take it along, and its COMMIT waits for all others'. */
  send(): void {
    void this.#deps.postgres.all("SELECT pg_notify($1, '')", [this.#channel]).catch(() => undefined);
  }

  /** Returns what ends it. Those that come soon after another are one. */
  async listen(onHint: () => void): Promise<() => Promise<void>> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let heardMs = Number.NEGATIVE_INFINITY;
    const answer = () => {
      timer = undefined;
      heardMs = performance.now();
      onHint();
    };
    const hear = () => {
      if (timer !== undefined) return;
      const waitMs = heardMs + HINT_MS_MIN - performance.now();
      if (waitMs <= 0) answer();
      else timer = setTimeout(answer, waitMs);
    };
    const stop = await this.#deps.postgres.listen(this.#channel, hear, () => undefined);
    return async () => {
      clearTimeout(timer);
      await stop();
    };
  }
}

/** Its name cannot be longer than 63 bytes, as a schema's may be. */
function toChannel(schema: string): string {
  return `lockport_${new Bun.CryptoHasher("sha256").update(schema).digest("hex").slice(0, 32)}`;
}
