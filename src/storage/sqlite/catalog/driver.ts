import type { Database } from "bun:sqlite";
import type { Ids } from "#kernel/ids.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { ChangeTransaction, readVersion, recordChanges, trimChanges } from "#storage/catalog/change.ts";
import { Follower } from "#storage/catalog/follower.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import type { Script } from "#storage/sql/script.ts";
import { drive } from "#storage/sqlite/drive.ts";
import type { Connection } from "./connection.ts";

interface SqliteDriverDeps {
  readonly client: Database;
  readonly connection: Connection;
  readonly memory: StoreMemory;
  readonly ids: Ids;
  /** Whether this is the server's connection, and not a command's. */
  readonly isServing: boolean;
}

/**
 * Runs scripts on catalog.db, each at once: nothing else on the connection gets in between. Memory is trusted for as long as
 * no other connection has committed (`Connection.dataVersion`); then it reads what the change log names.
 */
export function createSqliteDriver(deps: SqliteDriverDeps): CatalogDriver {
  const { client, connection, memory, ids, isServing } = deps;
  const follower = new Follower(memory);
  let trustedVersion: number | null = null;
  let trustedAsides: number | null = null;

  const isTrusted = () => trustedVersion === connection.dataVersion();
  /** To be called within a transaction: the version and the rows are then of one moment. */
  const follow = () => {
    const version = connection.dataVersion();
    if (version === trustedVersion) return;
    const asides = readAsides(client);
    // Neither a change nor an aside of a command: another program has written to the file, and told nothing of it.
    if (asides === trustedAsides && follower.isAt(drive(client, readVersion()))) follower.forget();
    drive(client, follower.follow())();
    trustedVersion = version;
    trustedAsides = asides;
  };
  /** The server's own commits are none that it has to look into. */
  const countAside = () => {
    if (!isServing) client.run(`PRAGMA user_version = ${readAsides(client) + 1}`);
  };
  const change = <Answer>(script: () => Script<Answer>) => {
    follow();
    const transaction = new ChangeTransaction(SQLITE);
    const answer = drive(client, script(), transaction);
    const { changes } = transaction;
    if (changes.length === 0) {
      countAside();
      return { answer, install: () => true };
    }
    const { version } = drive(client, readVersion());
    const next = { version: version + 1, token: ids.uuid() };
    drive(client, recordChanges(changes, next));
    drive(client, trimChanges(next));
    return { answer, install: drive(client, follower.readOwn(changes, next), transaction) };
  };
  const aside = <Answer>(script: () => Script<Answer>) =>
    connection.write(() => {
      const answer = drive(client, script());
      countAside();
      return answer;
    });

  return {
    read: (script) => connection.read(() => drive(client, script())),
    ask: (script) => connection.query(() => drive(client, script())),
    async change(script) {
      // In the same turn as the COMMIT: the next change must not start from what was before this one.
      const { answer } = await connection.write(
        () => change(script),
        ({ install }) => install(),
      );
      return answer;
    },
    aside,
    put: aside,
    memory: {
      // A foreign lock may leave open whether something was committed: memory is brought up to date then.
      isTrusted: () => connection.tryQuery(isTrusted) ?? false,
      async current() {
        if (!(await connection.query(isTrusted))) await connection.read(follow);
      },
      catalog: () => memory.catalog(),
      limits: () => memory.limits(),
      keys: memory.keys,
      relayTokens: memory.relayTokens,
      catalogAfter: () => memory.catalogAfter(),
    },
  };
}

/**
 * How many asides commands have committed: a server tells by it that a commit left alone what it remembers. It stands in the
 * header of the file, which costs no page more.
 */
function readAsides(client: Database): number {
  return client.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}
