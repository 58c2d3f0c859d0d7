import { asc, count, eq } from "drizzle-orm";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import type { Limit, LimitEach, LimitSubject } from "#limits/limit.ts";
import { type LimitSet, type LimitStore, LIMITS_MAX, type NamedSubject } from "#limits/store.ts";
import type { RecordAudit } from "./audit.ts";
import type { Connection } from "./connection.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { limits } from "./limit-schema.ts";

type Row = typeof limits.$inferSelect;
/** The limits, and the state of the file that they are of. */
interface Picture {
  readonly dataVersion: number;
  readonly writeCount: number;
  readonly text: string;
  readonly set: LimitSet;
}
type Columns = Pick<Row, "principalId" | "keyId" | "relayTokenId" | "tag">;

/** The limits in catalog.db. Names and subjects are looked up under the write lock. */
export function createLimitStore(connection: Connection, recordAudit: RecordAudit): LimitStore {
  const { orm } = connection;
  let latest: Picture | null = null;

  const isCurrent = (picture: Picture) =>
    picture.dataVersion === connection.dataVersion() && picture.writeCount === connection.writeCount();
  const recall = () => (latest !== null && isCurrent(latest) ? latest.set : null);
  /** Other rows of the catalog change more often than these: an equal set stays the same object. */
  const readSet = (): LimitSet => {
    const version = { dataVersion: connection.dataVersion(), writeCount: connection.writeCount() };
    const rows = orm
      .select({ limit: limits, principalName: principals.name })
      .from(limits)
      .leftJoin(principals, eq(principals.id, limits.principalId))
      .orderBy(asc(limits.createdAtUs), asc(limits.id))
      .all();
    const text = JSON.stringify(rows);
    const set = latest?.text === text ? latest.set : { limits: rows.map(toLimit) };
    latest = { ...version, text, set };
    return set;
  };
  const getLimit = (id: string): Limit => {
    const limit = readSet().limits.find((known) => known.id === id);
    if (limit === undefined) throw new ProxyError("limit_not_found", "No limit has this id.");
    return limit;
  };
  const requireFreeName = (name: string): void => {
    if (orm.select({ id: limits.id }).from(limits).where(eq(limits.name, name)).get() !== undefined)
      throw new ProxyError("limit_exists", "A limit of this name exists already.", { param: "name" });
  };
  const findColumns = (subject: NamedSubject): Columns => {
    switch (subject.kind) {
      case "everybody":
        return NOBODY;
      case "tag":
        return { ...NOBODY, tag: subject.pair };
      case "principal": {
        const found = orm.select().from(principals).where(eq(principals.name, subject.name)).get();
        return { ...NOBODY, principalId: found?.id ?? refuseMissing("principal_not_found", "principal") };
      }
      case "key": {
        const found = orm.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.id, subject.id)).get();
        return { ...NOBODY, keyId: found?.id ?? refuseMissing("key_not_found", "key") };
      }
      default: {
        const { id } = subject;
        const found = orm
          .select({ id: relayTokens.id })
          .from(relayTokens)
          .where(eq(relayTokens.id, id))
          .get();
        return {
          ...NOBODY,
          relayTokenId: found?.id ?? refuseMissing("relay_token_not_found", "relay token"),
        };
      }
    }
  };

  return {
    peek: () => connection.tryQuery(recall),
    async snapshot() {
      const remembered = await connection.query(recall);
      return remembered ?? (await connection.read(readSet));
    },

    create: ({ subject, each, amount, ...limit }, audit) =>
      connection.write(() => {
        requireFreeName(limit.name);
        const { total } = orm.select({ total: count() }).from(limits).get() ?? { total: 0 };
        if (total >= LIMITS_MAX) {
          throw new ProxyError(
            "too_many_limits",
            `There are ${LIMITS_MAX} limits at most: remove one first.`,
          );
        }
        orm
          .insert(limits)
          .values({
            ...limit,
            ...findColumns(subject),
            formerModels: "[]",
            each: fromEach(each),
            amount: amount.toString(),
          })
          .run();
        recordAudit(audit);
        return getLimit(limit.id);
      }),

    update: (id, { amount, ...change }, audit) =>
      connection.write(() => {
        const before = getLimit(id);
        if (change.name !== undefined && change.name !== before.name) requireFreeName(change.name);
        const columns = { ...change, ...(amount !== undefined && { amount: amount.toString() }) };
        if (Object.keys(columns).length > 0) orm.update(limits).set(columns).where(eq(limits.id, id)).run();
        recordAudit(audit);
        return getLimit(id);
      }),

    delete: (id, audit) =>
      connection.write(() => {
        getLimit(id);
        orm.delete(limits).where(eq(limits.id, id)).run();
        recordAudit(audit);
      }),
  };
}

const NOBODY: Columns = { principalId: null, keyId: null, relayTokenId: null, tag: null };

function refuseMissing(code: ErrorCode, noun: string): never {
  throw new ProxyError(code, `No such ${noun}.`, { param: "subject" });
}

function toLimit({
  limit,
  principalName,
}: {
  readonly limit: Row;
  readonly principalName: string | null;
}): Limit {
  const { principalId, keyId, relayTokenId, tag, each, amount, formerModels, ...fields } = limit;
  return {
    ...fields,
    subject: toSubject({ principalId, keyId, relayTokenId, tag }, principalName ?? ""),
    formerModels: toNames(formerModels),
    each: toEach(each),
    amount: BigInt(amount),
  };
}

function toSubject({ principalId, keyId, relayTokenId, tag }: Columns, principalName: string): LimitSubject {
  if (principalId !== null) return { kind: "principal", id: principalId, name: principalName };
  if (keyId !== null) return { kind: "key", id: keyId };
  if (relayTokenId !== null) return { kind: "relay_token", id: relayTokenId };
  return tag === null ? { kind: "everybody" } : { kind: "tag", pair: tag };
}

export function toNames(json: string): readonly string[] {
  const names: unknown = JSON.parse(json);
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

const TAG_EACH = "tag:";

function fromEach(each: LimitEach | null): string | null {
  if (each === null) return null;
  return each.kind === "tag" ? TAG_EACH + each.key : each.kind;
}

function toEach(text: string | null): LimitEach | null {
  if (text === null) return null;
  if (text.startsWith(TAG_EACH)) return { kind: "tag", key: text.slice(TAG_EACH.length) };
  return text === "key" ? { kind: "key" } : { kind: "principal" };
}
