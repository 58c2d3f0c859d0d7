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
import { recordChange } from "./audit.ts";
import { hintAtSecret } from "./hints.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { apiKeys, relayTokens, type SecretTable } from "./tables.ts";

interface SecretKind {
  readonly table: SecretTable;
  readonly remembered: "keys" | "relayTokens";
  readonly kind: "key" | "relay_token";
  /** The code of an id that is not there. */
  readonly missing: ErrorCode;
  readonly noun: string;
  /** For a principal that has `SECRETS_PER_PRINCIPAL_MAX` of them. */
  readonly toFull: () => ProxyError;
}

export const KEYS: SecretKind = {
  table: apiKeys,
  remembered: "keys",
  kind: "key",
  ...toRefusals("key", "key_not_found", "too_many_keys"),
};

export const RELAY_TOKENS: SecretKind = {
  table: relayTokens,
  remembered: "relayTokens",
  kind: "relay_token",
  ...toRefusals("relay token", "relay_token_not_found", "too_many_relay_tokens"),
};

/** API keys or relay tokens. */
export function createSecretStore(
  { read, ask, change, memory, isTrusted, current }: CatalogDriver,
  { table, kind, missing, noun, toFull, ...of }: SecretKind,
): SecretStore {
  const remembered = memory[of.remembered];
  const toMissing = () => new ProxyError(missing, `No ${noun} has this id.`);
  const hinting = <Result>(filter: SecretFilter, asked: Promise<Result>) =>
    withHint(asked, missing, () => ask(() => hintAtSecret(table, filter)));
  const limitsOf = (id: string) =>
    memory.limits().limits.filter(({ subject }) => subject.kind === kind && subject.id === id);
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
        if (owned >= SECRETS_PER_PRINCIPAL_MAX) throw toFull();
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
          const [found] = yield* selectListed(table, ...toWhere(table, filter));
          if (found === undefined) throw toMissing();
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
          const [found] = yield* selectListed(table, ...toWhere(table, filter));
          if (found === undefined) throw toMissing();
          // Its limits go with it: ON DELETE CASCADE.
          yield* run(`DELETE FROM ${table.name} WHERE id = ?`, [filter.id]);
          yield* recordChange(audit, kind, toSecretChange(toListedSecret(found), null));
          for (const { id } of limitsOf(filter.id)) yield* changed("limit", id);
        }),
      ),

    async findRemoval(filter) {
      await current();
      const limits = limitsOf(filter.id).map(({ id, name, enabled }) => ({ id, name, enabled }));
      return hinting(
        filter,
        read(function* () {
          const [found] = yield* selectListed(table, ...toWhere(table, filter));
          if (found === undefined) throw toMissing();
          return { secret: toListedSecret(found), limits };
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

function toWhere(
  { name }: SecretTable,
  { id, principalId }: SecretFilter,
): readonly [where: string, bindings: readonly Binding[]] {
  if (principalId === undefined) return [`WHERE ${name}.id = ?`, [id]];
  return [`WHERE ${name}.id = ? AND ${name}.principal_id = ?`, [id, principalId]];
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

/** Within a change, an API key with the limits of it, which go by ON DELETE CASCADE. `known`: the limits that it found. */
export function* removeKey(id: string, { limits }: LimitSet): Script<void> {
  yield* run("DELETE FROM api_keys WHERE id = ?", [id]);
  yield* changed("key", id);
  for (const { id: limitId, subject } of limits)
    if (subject.kind === "key" && subject.id === id) yield* changed("limit", limitId);
}

function toRefusals(noun: string, missing: ErrorCode, full: ErrorCode) {
  return {
    missing,
    noun,
    toFull: () =>
      new ProxyError(
        full,
        `A principal has ${SECRETS_PER_PRINCIPAL_MAX} ${noun}s at most: delete one that is not used.`,
      ),
  };
}
