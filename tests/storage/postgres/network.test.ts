import { expect, test } from "bun:test";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import { createChance } from "../../support/chance.ts";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { scale } from "../../support/scale.ts";
import { createTcpProxy } from "../../support/tcp-proxy.ts";
import { busyLimit, until } from "../../support/waiting.ts";
import { connect } from "./support.ts";

const CALL_MS_MAX = 300;
/** Above it the cuts would last for minutes. */
const CALL_MS_MAX_BUSY = 1_000;
/** Waiting for a connection, making one, BEGIN, the statement and COMMIT: each has the limit. */
const CALLS_OF_TRANSACTION = 5;
/** Beside the limits of its calls: what an idle machine may take. */
const LATE_MS_MAX = 1_500;
const CONNECTIONS_MAX = 3;
const CALLERS = 8;
const CUTS = 8 * scale;

test.skipIf(postgresMissing !== null)(
  "whatever the network does, every call ends in time, a commit is never denied, and calls succeed once it is back",
  async () => {
    const server = await sharedPostgres();
    await using target = server.schema();
    await server.sql(`CREATE SCHEMA ${target.schema} CREATE TABLE made (a integer)`);
    const proxy = createTcpProxy(server.port);
    // Shorter than a connection takes to make on a busy machine, it would find nothing else.
    const callMsMax = Math.min(CALL_MS_MAX_BUSY, Math.ceil(busyLimit(CALL_MS_MAX)));
    const chance = createChance();
    const url = proxy.toUrl(target.url);
    const options = { target: { ...target, url }, connectionsMax: CONNECTIONS_MAX, callMsMax };
    const postgres = await connect(url, options);
    const seen = { committed: 0, unknown: 0, slowestMs: 0 };
    const stop = new AbortController();
    const call = async () => {
      while (!stop.signal.aborted) {
        const start = performance.now();
        try {
          await postgres.transaction((tx) => tx.run("INSERT INTO made VALUES ($1)", [1]));
          seen.committed += 1;
        } catch (cause) {
          if (!(cause instanceof DatabaseUnreachableError)) throw cause;
          if (cause.mayBeCommitted) seen.unknown += 1;
          await Bun.sleep(5);
        }
        seen.slowestMs = Math.max(seen.slowestMs, performance.now() - start);
      }
    };
    const calling = Promise.all(Array.from({ length: CALLERS }, call));
    const cuts = ["reset", "silence", "loseAnswers", "refuse"] as const;
    for (let index = 0; index < CUTS; index += 1) {
      proxy[cuts[index % cuts.length] ?? "reset"]();
      await Bun.sleep(chance.below(2 * callMsMax));
      proxy.resume();
      await Bun.sleep(chance.below(callMsMax));
    }
    const wanted = seen.committed + 2 * CALLERS;
    await until(
      () => seen.committed >= wanted,
      () => `${seen.committed} of ${wanted} are committed`,
      2 * (CALLS_OF_TRANSACTION * CALL_MS_MAX + LATE_MS_MAX),
    );
    stop.abort();
    await calling;
    expect(seen.slowestMs).toBeLessThan(CALLS_OF_TRANSACTION * callMsMax + busyLimit(LATE_MS_MAX));
    const [row] = await postgres.all<{ count: number }>("SELECT count(*) AS count FROM made");
    expect(row?.count).toBeWithin(seen.committed, seen.committed + seen.unknown + 1);
    await postgres.close();
    proxy.stop();
  },
  60_000 * scale,
);
