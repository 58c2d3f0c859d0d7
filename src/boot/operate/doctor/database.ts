import type { Config } from "#boot/settings/config.ts";
import { examineDatabase } from "#boot/settings/engine.ts";
import type { System } from "#boot/process/system.ts";
import { SetupError, UnreachableError } from "#kernel/errors.ts";
import { toCounted } from "#kernel/text.ts";
import { toFailure, toOk, toWarning, type Check } from "./check.ts";

type DatabaseExamination = Awaited<ReturnType<typeof examineDatabase>>;

const SKEW_MS_MAX = 1_000;
const SILENT_SECONDS_MAX = 3_600;
const NAMED_MAX = 5;

interface DatabaseFound {
  readonly checks: readonly Check[];
  /** True when a command can open its schema. */
  readonly isUsable: boolean;
}

/** The PostgreSQL of an installation: is it reached as it has to be, may this role work in it, who has fallen silent. */
export async function checkDatabase(
  config: Config,
  { clock, log }: Pick<System, "clock" | "log">,
): Promise<DatabaseFound> {
  const { database } = config;
  if (database.kind !== "postgres") return { checks: [], isUsable: false };
  try {
    const found = await examineDatabase({ database, clock, log });
    const reached = checkReached(found, database.schema);
    const checks = [
      reached,
      checkRights(found),
      checkClock(found),
      checkReplicas(found.replicas),
      checkSilent("spools", found.spools, SPOOL_ADVICE),
    ];
    const isUsable = reached.status !== "fail" && found.schema === "current";
    return { checks, isUsable };
  } catch (cause) {
    return { checks: [toRefusal(cause)], isUsable: false };
  }
}

const NAME = "database";
/** By the error's code: SQLSTATE too_many_connections, or a word of ours. */
const UNREACHABLE_ADVICE: { readonly [code: string]: string } = {
  "53300": "All connections of PostgreSQL are taken: raise max_connections, of which each replica takes 16.",
  unresolved: "Correct the name, or look at how this machine resolves names (getent hosts NAME).",
};
const UNANSWERED_ADVICE =
  "Look whether PostgreSQL runs, and whether the host and port of PROXY_DATABASE_URL lead to it from here.";

function toRefusal(cause: unknown): Check {
  if (cause instanceof UnreachableError) {
    const advice = UNREACHABLE_ADVICE[cause.code] ?? UNANSWERED_ADVICE;
    return toFailure(NAME, `unreachable: ${cause.message.replace(/\.$/, "")}`, advice);
  }
  if (!(cause instanceof SetupError)) throw cause;
  return toFailure(NAME, cause.message, "Nothing starts before it is corrected.");
}

function checkReached(found: DatabaseExamination, schema: string): Check {
  const way = `PostgreSQL ${found.version}, ${found.isEncrypted ? "encrypted" : "not encrypted, on this machine"}`;
  if (found.isStandby) {
    return toFailure(
      NAME,
      `${way}, takes no changes: it is a standby, or kept from writing`,
      "Name the primary in PROXY_DATABASE_URL, or an address that follows it.",
    );
  }
  if (found.schema === "none") return toOk(NAME, `${way}; the first start makes the schema ${schema}`);
  if (found.schema === "older") {
    const advice = "The next start of a server brings it up to date.";
    return toWarning(NAME, `${way}; the schema ${schema} is of an older version`, advice);
  }
  return toOk(NAME, `${way}, schema ${schema}`);
}

function checkRights({ lackingRights, schema }: DatabaseExamination): Check {
  const name = "database rights";
  if (lackingRights.length === 0) return toOk(name, "the role may do what serving needs");
  const advice =
    schema === "none"
      ? "Grant it, or make the schema for this role: CREATE SCHEMA … AUTHORIZATION …"
      : "Let the role own the schema and what is in it, or grant it SELECT, INSERT, UPDATE, DELETE on all tables and USAGE on all sequences.";
  return toFailure(name, `the role lacks ${toNamed(lackingRights)}`, advice);
}

function checkClock({ clockSkewMs }: DatabaseExamination): Check {
  const name = "database clock";
  const seconds = (Math.abs(clockSkewMs) / 1000).toFixed(1);
  const finding = `${seconds} s ${clockSkewMs > 0 ? "ahead of" : "behind"} this machine's`;
  if (Math.abs(clockSkewMs) <= SKEW_MS_MAX) return toOk(name, finding);
  return toWarning(
    name,
    finding,
    "Set both by NTP: events lie in the days and hours of the clock of the replica that took the request.",
  );
}

const REPLICA_ADVICE =
  "One that was stopped for good leaves its row until it is cleaned up; look at the others: a change waited for each of them.";
const SPOOL_ADVICE =
  "What such a replica had recorded and not committed is on its disk: start it on its data folder, or make sure that it ended in order.";

/** A replica tells that it lives four times a second. */
const SLOTS_SILENT_SECONDS_MAX = 10;

function checkReplicas(all: DatabaseExamination["replicas"]): Check {
  const name = "replicas";
  const holding = all.filter(({ slots, idleSeconds }) => slots > 0 && idleSeconds > SLOTS_SILENT_SECONDS_MAX);
  if (holding.length === 0) return checkSilent(name, all, REPLICA_ADVICE);
  const told = holding.map(
    (one) => `${one.name} (${toCounted(one.slots, "slot")}, ${Math.round(one.idleSeconds)} s)`,
  );
  return toWarning(
    name,
    `silent, and holding slots of max_concurrency: ${toNamed(told)}`,
    "Start it on its data folder, which gives them back at once; else the others have them 65 s after its grace. None comes back while no replica runs.",
  );
}

function checkSilent(name: string, all: DatabaseExamination["spools"], advice: string): Check {
  const silent = all.filter(({ idleSeconds }) => idleSeconds > SILENT_SECONDS_MAX);
  if (silent.length === 0) return toOk(name, `${all.length} known, none silent for an hour`);
  const told = silent.map((one) => `${one.name} (${Math.floor(one.idleSeconds / SILENT_SECONDS_MAX)} h)`);
  const subject = toCounted(silent.length, name.replace(/s$/, ""));
  return toWarning(name, `${subject} unheard for an hour or more: ${toNamed(told)}`, advice);
}

function toNamed(names: readonly string[]): string {
  return `${names.slice(0, NAMED_MAX).join(", ")}${names.length > NAMED_MAX ? ", …" : ""}`;
}
