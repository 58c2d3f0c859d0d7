import { eq, isNotNull } from "drizzle-orm";
import { LOCAL_ACTOR, toAuditEntry } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Keyring } from "#kernel/keyring.ts";
import {
  type Boxes,
  requirePresentSecret,
  resealCredential,
  toNextState,
} from "#storage/catalog/rotation.ts";
import type { Rotation } from "#storage/engine.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import type { Sql, SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import type { Change } from "#storage/catalog/change.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import { createRecordAudit } from "./audit.ts";
import { renewStates } from "./catalog-picture.ts";
import { providers } from "./schema.ts";
import { readSecretState, writeSecretState } from "./secret-state.ts";

export interface RotateSecretOptions {
  readonly freshness: Pick<Freshness, "mutate">;
  readonly secrets: Keyring;
  readonly next: SecretBox;
  readonly revokesKeys: boolean;
  readonly clock: Pick<Clock, "nowUs">;
}

const CHANGES: readonly Change[] = [
  { kind: "secret", id: null },
  { kind: "catalog", id: null },
  { kind: "session", id: null },
];
const REVOKED: readonly Change[] = [
  { kind: "key", id: null },
  { kind: "relay_token", id: null },
  { kind: "limit", id: null },
];

/** Makes `next` the catalog's secret (`StorageEngine.rotateSecret`); every replica follows before it returns. */
export async function rotateSecret(options: RotateSecretOptions): Promise<Rotation> {
  const { freshness, secrets, next, revokesKeys } = options;
  const recordAudit = createRecordAudit(options.clock);
  return freshness.mutate(async (tx) => {
    requirePresentSecret(await readSecretState(tx), secrets);
    const nextState = toNextState({ secrets, next }, revokesKeys);
    const credentials = await resealCredentials(tx, { secrets, next });
    const sessions = await tx.run("DELETE FROM sessions");
    await tx.run("DELETE FROM login_links");
    const keys = revokesKeys ? await deleteAll(tx, "api_keys") : [];
    const tokens = revokesKeys ? await deleteAll(tx, "relay_tokens") : [];
    await writeSecretState(tx, nextState);
    await renewStates(tx, false);
    const entries = [
      ...keys.map((id) => ({ action: "key.delete", targetKind: "api_key", targetRef: id }) as const),
      ...tokens.map(
        (id) => ({ action: "relay_token.delete", targetKind: "relay_token", targetRef: id }) as const,
      ),
      { action: "secret_key.rotate", targetKind: "secret_key", targetRef: SECRET_KEY_NAME } as const,
    ];
    await recordAudit(
      tx,
      entries.map((entry) => toAuditEntry(LOCAL_ACTOR, entry)),
    );
    return {
      result: { credentials, sessions, revokedKeys: keys.length + tokens.length },
      changes: revokesKeys ? [...CHANGES, ...REVOKED] : CHANGES,
    };
  });
}

async function resealCredentials({ orm }: SqlWithOrm, boxes: Boxes): Promise<number> {
  const rows = await orm.select().from(providers).where(isNotNull(providers.sealedCredential));
  for (const row of rows) {
    const sealedCredential = resealCredential(boxes, row);
    if (sealedCredential !== null)
      await orm.update(providers).set({ sealedCredential }).where(eq(providers.id, row.id));
  }
  return rows.length;
}

async function deleteAll(sql: Sql, table: "api_keys" | "relay_tokens"): Promise<readonly string[]> {
  return (await sql.all<{ id: string }>(`DELETE FROM ${table} RETURNING id`)).map(({ id }) => id);
}
