import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { openPresence } from "#storage/replicas/presence.ts";
import { silentLog } from "../../support.ts";
import { createConcurrencyLimiter } from "#forward/concurrency-limiter.ts";
import { runLoad } from "./load.ts";
import { createKeyMemory } from "./key-memory.ts";

/**
 * A replica: it says which keys it would accept, as a server does for each request. A line of stdin is a request, a line of
 * stdout its answer.
 */
export interface ChildOptions {
  readonly url: string;
  readonly schema: string;
  readonly lane: number;
  readonly graceMs: number;
  /** False: no notification arrives. */
  readonly hears: boolean;
  readonly slotLeaseMs: number;
}

/** Requests to an upstream of limited concurrency: a connection each, held for so long. */
export interface Load {
  readonly port: number;
  readonly limit: number;
  readonly requests: number;
  /** How many wait or run at once. */
  readonly atOnce: number;
  readonly holdMs: number;
}

export interface LoadResult {
  readonly done: number;
  /** Their connection was cut before they were done. */
  readonly cut: number;
  readonly waitedMsMax: number;
}

export type ChildRequest = { readonly id: number } & (
  | { readonly kind: "accepts"; readonly key: string }
  | { readonly kind: "delete"; readonly key: string }
  | { readonly kind: "create"; readonly key: string }
  | { readonly kind: "health" }
  | { readonly kind: "load"; readonly load: Load }
  | { readonly kind: "close" }
);

const [given = "{}"] = process.argv.slice(2);
const { url, schema, lane, graceMs, hears, slotLeaseMs }: ChildOptions = JSON.parse(given);
const target = { url, schema };
const clock = createSystemClock();
const ids = createSystemIds();
const connect = (purpose: string, callMsMax: number) =>
  openPostgres({ target, purpose, connectionsMax: 3, callMsMax, log: silentLog });
const pulse = await connect("presence", PURPOSES.presence.callMsMax);
const postgres = await connect("catalog", 2_000);
const memory = createKeyMemory();
const deaf: Postgres = { ...pulse, listen: async () => async () => {} };
const presence = await openPresence({
  identity: {
    lane,
    name: `replica ${lane}`,
    graceMs,
    schema: "0000_installation",
    version: "0.0.0",
  },
  pulse: hears ? pulse : deaf,
  postgres,
  schema,
  memory: memory.follower,
  clock,
  ids,
  log: silentLog,
  slotLeaseMs,
});
const { freshness } = presence;
const limiter = createConcurrencyLimiter(presence.slots);

async function answer(request: ChildRequest): Promise<unknown> {
  switch (request.kind) {
    case "accepts": {
      const isTrusted = freshness.isTrusted();
      if (!isTrusted) await freshness.refreshed();
      return { accepted: memory.has(request.key), asked: !isTrusted };
    }
    case "create":
    case "delete": {
      const { kind, key } = request;
      const text =
        kind === "create" ? "INSERT INTO test_key (id) VALUES ($1)" : "DELETE FROM test_key WHERE id = $1";
      const touched = await freshness.mutate(async (tx) => ({
        result: await tx.run(text, [key]),
        changes: [{ kind: "key", id: key }],
      }));
      return { touched, stillHas: memory.has(key) };
    }
    case "health":
      return { ...presence.health(), loads: memory.loads, slots: presence.slots.count };
    case "load":
      return await runLoad(limiter.openQueue("upstream"), request.load);
    case "close":
      await presence.close();
      await Promise.all([pulse.close(), postgres.close()]);
      return null;
    default:
      throw new TypeError("an unknown request");
  }
}

console.log(JSON.stringify({ id: 0, value: "ready" }));
for await (const line of console) {
  const request: ChildRequest = JSON.parse(line);
  void answer(request).then(
    (value) => console.log(JSON.stringify({ id: request.id, value })),
    (cause: unknown) => {
      const { name, message } = cause instanceof Error ? cause : new Error("no error");
      console.log(JSON.stringify({ id: request.id, error: { name, message } }));
    },
  );
}
