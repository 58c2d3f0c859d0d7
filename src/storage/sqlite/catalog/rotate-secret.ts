import { eq, isNotNull } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { LOCAL_ACTOR, toAuditEntry } from "#audit/event.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import { createRecordAudit } from "./audit.ts";
import type { RotateOptions, Rotation } from "#storage/engine.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqlite, toCatalogPath } from "#storage/sqlite/file/open.ts";
import {
  type Boxes,
  requirePresentSecret,
  resealCredential,
  toNextState,
} from "#storage/catalog/rotation.ts";
import type { Orm } from "./connection.ts";
import { openCatalogBesideServer } from "./local-catalog.ts";
import { apiKeys, loginLinks, relayTokens, sessions } from "./identity-schema.ts";
import { providers } from "./schema.ts";
import { readSecretState, writeSecretState } from "./secret-state.ts";

/** Makes `next` the catalog's secret (`StorageEngine.rotateSecret`). */
export async function rotateSecret({ next, revokesKeys, ...options }: RotateOptions): Promise<Rotation> {
  const { secrets } = options;
  const path = toCatalogPath(options);
  // Brought up to date first; its check of the present secret is repeated below, under the lock.
  await (await openCatalogBesideServer({ ...options, path })).close();
  const client = openSqlite(path);
  try {
    return withSetupErrors(path, () =>
      drizzle({ client }).transaction(
        (orm): Rotation => {
          const recordAudit = createRecordAudit(orm, options.clock);
          const record: Record = (entry) => recordAudit(toAuditEntry(LOCAL_ACTOR, entry));
          requirePresentSecret(readSecretState(client), secrets);
          const nextState = toNextState({ secrets, next }, revokesKeys);
          const rotation = {
            credentials: resealCredentials(orm, { secrets, next }),
            sessions: orm.delete(sessions).returning({ hash: sessions.tokenHash }).all().length,
            revokedKeys: revokesKeys ? deleteKeys(orm, record) : 0,
          };
          orm.delete(loginLinks).run();
          writeSecretState(client, nextState);
          record({ action: "secret_key.rotate", targetKind: "secret_key", targetRef: SECRET_KEY_NAME });
          return rotation;
        },
        { behavior: "immediate" },
      ),
    );
  } finally {
    client.close(true);
  }
}

function resealCredentials(orm: Pick<Orm, "select" | "update">, boxes: Boxes): number {
  const rows = orm.select().from(providers).where(isNotNull(providers.sealedCredential)).all();
  for (const row of rows) {
    const sealedCredential = resealCredential(boxes, row);
    if (sealedCredential === null) continue;
    orm.update(providers).set({ sealedCredential }).where(eq(providers.id, row.id)).run();
  }
  return rows.length;
}

/** Writes down in the same transaction what the command has done. */
type Record = (entry: Parameters<typeof toAuditEntry>[1]) => void;

function deleteKeys(orm: Pick<Orm, "delete">, record: Record): number {
  const keys = orm.delete(apiKeys).returning({ id: apiKeys.id }).all();
  for (const { id } of keys) record({ action: "key.delete", targetKind: "api_key", targetRef: id });
  const tokens = orm.delete(relayTokens).returning({ id: relayTokens.id }).all();
  for (const { id } of tokens)
    record({ action: "relay_token.delete", targetKind: "relay_token", targetRef: id });
  return keys.length + tokens.length;
}
