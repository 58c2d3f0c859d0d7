import { toAuditChange } from "#audit/change.ts";
import { toSecretFacts, toSecretLabel } from "#identity/facts.ts";
import { type ListedSecret, SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import type { SecretFilter, SecretStore } from "#identity/store.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { withHint } from "#kernel/nearest.ts";
import type { LimitSet } from "#limits/store.ts";
import { columnsOf, count, decode, insert, update } from "#storage/sql/rows.ts";
import { all, type Binding, run, type Script } from "#storage/sql/script.ts";
import { changed } from "./change.ts";
import { requirePrincipal } from "./principals.ts";
import { applySecretChange, type ListedSecretRow, toListedSecret, toSecretRow } from "./catalog-rows.ts";
import { recordChange, recordOne } from "./audit.ts";
import { hintAtSecret } from "./hints.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { apiKeys, relayTokens, type SecretTable } from "./tables.ts";

interface SecretKind {
  readonly table: SecretTable;
  readonly remembered: "keys" | "relayTokens";
  readonly kind: "key" | "relay_token";
  readonly noun: string;
  /** The code of an id that is not there. */
  readonly missing: ErrorCode;
  /** The code for a principal that has `SECRETS_PER_PRINCIPAL_MAX` of them. */
  readonly full: ErrorCode;
}

export const KEYS: SecretKind = {
  table: apiKeys,
  remembered: "keys",
  kind: "key",
  noun: "key",
  missing: "key_not_found",
  full: "too_many_keys",
};

export const RELAY_TOKENS: SecretKind = {
  table: relayTokens,
  remembered: "relayTokens",
  kind: "relay_token",
  noun: "relay token",
  missing: "relay_token_not_found",
  full: "too_many_relay_tokens",
};

/** API keys or relay tokens. */
export function createSecretStore(
  { read, ask, change, memory, isTrusted, current }: CatalogDriver,
  of: SecretKind,
): SecretStore {
  const { table, kind, noun, missing, full } = of;
  const remembered = memory[of.remembered];
  const hinting = <Result>(filter: SecretFilter, asked: Promise<Result>) =>
    withHint(asked, missing, () => ask(() => hintAtSecret(table, filter)));
  const requireListed = function* find({ id, principalId }: SecretFilter): Script<ListedSecretRow> {
    const isOwn = principalId === undefined ? "" : `AND ${table.name}.principal_id = ?`;
    const bindings = principalId === undefined ? [id] : [id, principalId];
    const [found] = yield* selectListed(table, `WHERE ${table.name}.id = ? ${isOwn}`, bindings);
    if (found === undefined) throw new ProxyError(missing, `No ${noun} has this id.`);
    return found;
  };
  return {
    peekByHash: (hash) => (isTrusted() ? remembered.peek(hash) : null),

    async findByHash(hash) {
      await current();
      return remembered.peek(hash) ?? ask(() => remembered.find(hash));
    },

    create: (secret, audit) =>
      change(function* () {
        const { name: principalName } = yield* requirePrincipal(secret.principalId);
        const owned = yield* count(table, "WHERE principal_id = ?", [secret.principalId]);
        if (owned >= SECRETS_PER_PRINCIPAL_MAX)
          throw new ProxyError(
            full,
            `A principal has ${SECRETS_PER_PRINCIPAL_MAX} ${noun}s at most: delete one that is not used.`,
          );
        yield* insert(table, [toSecretRow(secret)]);
        yield* recordChange(audit, kind, toSecretChange(null, { ...secret, principalName }));
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
      hinting(
        filter,
        change(function* () {
          const found = yield* requireListed(filter);
          const { after, columns } = applySecretChange(found, plan);
          yield* update(table, columns, "id = ?", [after.id]);
          yield* recordChange(audit, kind, toSecretChange(toListedSecret(found), after));
          return after;
        }),
      ),

    delete: (filter, audit) =>
      hinting(
        filter,
        change(function* () {
          const found = yield* requireListed(filter);
          yield* removeSecret(of, filter.id, memory.limits());
          yield* recordOne(audit, toSecretChange(toListedSecret(found), null).change);
        }),
      ),

    async findRemoval(filter) {
      await current();
      const limits = listLimits(of, filter.id, memory.limits());
      return hinting(
        filter,
        read(function* () {
          return { secret: toListedSecret(yield* requireListed(filter)), limits };
        }),
      );
    },
  };
}

export function toSecretChange(before: ListedSecret | null, after: ListedSecret | null) {
  const told = after ?? before;
  const [was, is] = [before && toSecretFacts(before), after && toSecretFacts(after)];
  return { id: told?.id ?? "", change: toAuditChange(told && toSecretLabel(told), was, is) };
}

/** With the names of their owners. `rest` is what stands behind the join. */
export function* selectListed(
  table: SecretTable,
  rest: string,
  bindings: readonly Binding[],
): Script<readonly ListedSecretRow[]> {
  const rows = yield* all<ListedSecretRow>(
    `SELECT ${yield* columnsOf(table)}, principals.name AS "principalName"
     FROM ${table.name} JOIN principals ON principals.id = ${table.name}.principal_id ${rest}`,
    bindings,
  );
  return decode(table, rows);
}

/** Within a change, a secret with the limits of it, which go by ON DELETE CASCADE. `known`: the limits that it found. */
export function* removeSecret(of: SecretKind, id: string, known: LimitSet): Script<void> {
  yield* run(`DELETE FROM ${of.table.name} WHERE id = ?`, [id]);
  yield* changed(of.kind, id);
  for (const limit of listLimits(of, id, known)) yield* changed("limit", limit.id);
}

function listLimits({ kind }: SecretKind, secretId: string, { limits }: LimitSet) {
  const own = limits.filter(({ subject }) => subject.kind === kind && subject.id === secretId);
  return own.map(({ id, name, enabled }) => ({ id, name, enabled }));
}
