import { SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import type { SecretFilter, SecretStore } from "#identity/store.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { columnsOf, count, insert, update } from "#storage/sql/rows.ts";
import { all, type Binding, run, type Script } from "#storage/sql/script.ts";
import { changed } from "./change.ts";
import { requirePrincipal } from "./principals.ts";
import type { SecretMemory } from "./secret-memory.ts";
import { applySecretChange, toListedSecret, toSecretRow } from "./identity-rows.ts";
import type { StoreParts } from "./audit.ts";
import type { SecretRow, SecretTable } from "./tables.ts";

interface SecretParts {
  readonly table: SecretTable;
  readonly kind: "key" | "relay_token";
  readonly remembered: SecretMemory;
  readonly refusals: SecretRefusals;
}

/** API keys or relay tokens. */
export function createSecretStore(
  { table, kind, remembered, refusals }: SecretParts,
  { driver, recordAudit }: StoreParts,
): SecretStore {
  const { read, ask, change, memory } = driver;
  return {
    peekByHash: (hash) => (memory.isTrusted() ? remembered.peek(hash) : null),

    async findByHash(hash) {
      await memory.current();
      return remembered.peek(hash) ?? ask(() => remembered.find(hash));
    },

    create: (secret, audit) =>
      change(function* () {
        yield* requirePrincipal(secret.principalId);
        const owned = yield* count(table, "WHERE principal_id = ?", [secret.principalId]);
        if (owned >= SECRETS_PER_PRINCIPAL_MAX) throw refusals.toFull();
        yield* insert(table, [toSecretRow(secret)]);
        yield* recordAudit([audit]);
        yield* changed(kind, secret.id);
      }),

    list: ({ principalId }, { limit, offset }) =>
      read(function* () {
        const [where, owner] =
          principalId === undefined ? ["", []] : ["WHERE principal_id = ?", [principalId]];
        const order = `ORDER BY ${table.name}.created_at_us, ${table.name}.id LIMIT ? OFFSET ?`;
        const rows = yield* selectListed(table, `${where} ${order}`, [...owner, limit, offset]);
        return { rows: rows.map(toListedSecret), total: yield* count(table, where, owner) };
      }),

    change: (filter, plan, audit) =>
      change(function* () {
        const [where, bindings] = toWhere(table, filter);
        const [found] = yield* selectListed(table, where, bindings);
        if (found === undefined) throw refusals.toMissing();
        const { after, columns } = applySecretChange(found, plan);
        yield* update(table, columns, "id = ?", [after.id]);
        yield* recordAudit([audit]);
        yield* changed(kind, after.id);
        return after;
      }),

    delete: (filter, audit) =>
      change(function* () {
        const [where, bindings] = toWhere(table, filter);
        const limits = yield* all<{ readonly id: string }>(
          `SELECT id FROM limits WHERE ${kind === "key" ? "key_id" : "relay_token_id"} = ?`,
          [filter.id],
        );
        // Its limits go with it: ON DELETE CASCADE.
        if ((yield* run(`DELETE FROM ${table.name} ${where}`, bindings)) === 0) throw refusals.toMissing();
        yield* recordAudit([audit]);
        yield* changed(kind, filter.id);
        for (const { id } of limits) yield* changed("limit", id);
      }),
  };
}

function toWhere(
  { name }: SecretTable,
  { id, principalId }: SecretFilter,
): readonly [where: string, bindings: readonly Binding[]] {
  if (principalId === undefined) return [`WHERE ${name}.id = ?`, [id]];
  return [`WHERE ${name}.id = ? AND ${name}.principal_id = ?`, [id, principalId]];
}

interface ListedRow {
  readonly secret: SecretRow;
  readonly principalName: string;
}

/** Secrets with the names of their owners. */
function* selectListed(
  table: SecretTable,
  rest: string,
  bindings: readonly Binding[],
): Script<readonly ListedRow[]> {
  const rows = yield* all<SecretRow & { readonly principalName: string }>(
    `SELECT ${yield* columnsOf(table)}, principals.name AS "principalName"
     FROM ${table.name} JOIN principals ON principals.id = ${table.name}.principal_id ${rest}`,
    bindings,
  );
  return rows.map(({ principalName, ...secret }) => ({ secret, principalName }));
}

/** What is thrown for an id that is not there, and for a principal that has `SECRETS_PER_PRINCIPAL_MAX` of them. */
interface SecretRefusals {
  readonly toMissing: () => ProxyError;
  readonly toFull: () => ProxyError;
}

export const KEY_REFUSALS = toSecretRefusals("key", "key_not_found", "too_many_keys");
export const RELAY_TOKEN_REFUSALS = toSecretRefusals(
  "relay token",
  "relay_token_not_found",
  "too_many_relay_tokens",
);

function toSecretRefusals(noun: string, missing: ErrorCode, full: ErrorCode): SecretRefusals {
  return {
    toMissing: () => new ProxyError(missing, `No ${noun} has this id.`),
    toFull: () =>
      new ProxyError(
        full,
        `A principal has ${SECRETS_PER_PRINCIPAL_MAX} ${noun}s at most: delete one that is not used.`,
      ),
  };
}
