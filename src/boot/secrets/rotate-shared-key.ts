import { rmSync } from "node:fs";
import type { Clock } from "#kernel/clock.ts";
import { createSecretBox, SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { SetupError, UnreachableError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Log } from "#kernel/log.ts";
import { toCounted } from "#kernel/text.ts";
import type { PostgresDatabase, Rotation } from "#storage/engine.ts";
import type { Config } from "#boot/settings/config.ts";
import { engineOf, examineDatabase } from "#boot/settings/engine.ts";
import { makeDataDir, requireInstallation } from "#boot/folder/data-dir.ts";
import { replaceSecret } from "./secret-file.ts";
import { loadKeyring, toNextPath } from "./secret-key.ts";

/** A replica that was heard of within it may still serve. */
const IDLE_SECONDS_MIN = 60;

interface Around {
  readonly clock: Clock;
  readonly log: Log;
}

interface SharedKeyRotation extends Rotation {
  /** The file that holds the new key, until every replica is given it. */
  readonly path: string;
}

/**
 * Makes a new secret key for an installation whose replicas have theirs from PROXY_SECRET_KEY. They have to be stopped: none
 * could know the next key, and what it sealed meanwhile would not open. The new one lies in the data folder of this command
 * before the database has it. Throws a `SetupError`, and has changed nothing, when it cannot be done.
 */
export async function rotateSharedKey(
  config: Config,
  { clock, ids, log }: Around & { readonly ids: Ids },
  { revokesKeys }: { readonly revokesKeys: boolean },
): Promise<SharedKeyRotation> {
  const { dataDir, database } = config;
  if (database.kind !== "postgres") throw new TypeError("the key of files is rotated beside them");
  await requireInstallation(config);
  const secrets = loadKeyring(config, ids);
  await requireNobodyServes(database, { clock, log });
  makeDataDir(config);
  const path = toNextPath(config);
  const secret = ids.randomBytes(SECRET_KEY_BYTES);
  const next = createSecretBox(secret);
  replaceSecret(path, Buffer.from(secret).toString("base64"), ids);
  try {
    const engine = await engineOf(config);
    const rotation = await engine.rotateSecret({ dataDir, database, secrets, clock, log, next, revokesKeys });
    return { ...rotation, path };
  } catch (cause) {
    // Where it is not known whether the database has it, the only copy stays.
    if (!(cause instanceof UnreachableError && cause.mayBeCommitted)) rmSync(path, { force: true });
    throw cause;
  }
}

async function requireNobodyServes(database: PostgresDatabase, { clock, log }: Around): Promise<void> {
  const { replicas } = await examineDatabase({ database, clock, log });
  const serving = replicas.filter(({ idleSeconds }) => idleSeconds < IDLE_SECONDS_MIN).length;
  if (serving === 0) return;
  throw new SetupError(
    "failure",
    `${toCounted(serving, "replica")} ${serving === 1 ? "serves" : "serve"} from this database: stop all of them first (${IDLE_SECONDS_MIN} s must have passed since one was killed), since none knows the next key before it is started with it.`,
  );
}
