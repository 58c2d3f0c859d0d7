import type { Database } from "bun:sqlite";
import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { changeCatalog, Follower, readVersion, trimChanges } from "#storage/catalog/change.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import type { Script } from "#storage/sql/script.ts";
import { drive } from "#storage/sqlite/drive.ts";
import type { Connection } from "./connection.ts";

interface SqliteDriverDeps {
  readonly client: Database;
  readonly connection: Connection;
  readonly memory: StoreMemory;
  readonly clock: Pick<Clock, "nowUs">;
  readonly ids: Ids;
  /** Whether this is the server's connection, and not a command's. */
  readonly isServing: boolean;
}

/**
 * Runs scripts on catalog.db, each at once: nothing else on the connection gets in between. Memory is trusted for as long as
 * no other connection has committed (`Connection.dataVersion`); then it reads what the change log names.
 */
export function createSqliteDriver(deps: SqliteDriverDeps): CatalogDriver {
  const { client, connection, memory, clock, ids, isServing } = deps;
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
    const mark = { token: ids.uuid(), atUs: clock.nowUs() };
    const made = drive(client, changeCatalog(follower, script(), mark));
    if (made.version === null) countAside();
    else drive(client, trimChanges(made.version));
    return made;
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
      const { answer } = await connection.write(
        () => change(script),
        ({ takeOver }) => takeOver(),
      );
      return answer;
    },
    aside,
    put: aside,
    memory,
    // A foreign lock may leave open whether something was committed: memory is brought up to date then.
    isTrusted: () => connection.tryQuery(isTrusted) ?? false,
    async current() {
      if (!(await connection.query(isTrusted))) await connection.read(follow);
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
