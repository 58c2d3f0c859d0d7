import type { Database } from "bun:sqlite";
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { bindFormerCredential } from "#catalog/provider.ts";
import { FORMER_SEAL_FORMAT, SEAL_FORMAT, type SecretBox } from "#kernel/crypto.ts";
import { isReadableEndpoints, toProvider } from "#storage/catalog/catalog-rows.ts";
import { providers } from "./schema.ts";

const IS_FORMER = sql`substr(${providers.sealedCredential}, 1, 1) = ${Uint8Array.of(FORMER_SEAL_FORMAT)}`;

/**
 * Whether a catalog holds credentials that an earlier executable sealed for their row alone, and that can be bound. Those of
 * a row that cannot be read stay as they are until it is corrected: it keeps no start from happening.
 */
export function hasFormerCredentials(client: Database): boolean {
  return client
    .query<{ endpoints: string }, [Uint8Array]>(
      "SELECT endpoints FROM providers WHERE substr(sealed_credential, 1, 1) = ?",
    )
    .all(Uint8Array.of(FORMER_SEAL_FORMAT))
    .some(({ endpoints }) => isReadableEndpoints(endpoints));
}

/**
 * Seals such credentials anew, bound to their provider's address: all of them in one transaction. One that does not open
 * goes over to the present format, in which it does not open either: what it was is then told at its use.
 */
export function bindFormerCredentials(client: Database, secrets: SecretBox): void {
  if (!hasFormerCredentials(client)) return;
  drizzle({ client }).transaction(
    (orm) => {
      for (const row of orm.select().from(providers).where(IS_FORMER).all()) {
        const { id, sealedCredential } = row;
        if (sealedCredential === null || !isReadableEndpoints(row.endpoints)) continue;
        const bound = bindFormerCredential(secrets, toProvider(row)) ?? toPresentFormat(sealedCredential);
        orm
          .update(providers)
          .set({ sealedCredential: Buffer.from(bound) })
          .where(eq(providers.id, id))
          .run();
      }
    },
    { behavior: "immediate" },
  );
}

function toPresentFormat(sealed: Uint8Array): Uint8Array {
  return Uint8Array.of(SEAL_FORMAT, ...sealed.subarray(1));
}
