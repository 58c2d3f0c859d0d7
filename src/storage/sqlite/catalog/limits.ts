import { asc, count, eq } from "drizzle-orm";
import type { Limit } from "#limits/limit.ts";
import { type LimitSet, type LimitStore, LIMITS_MAX, type NamedSubject } from "#limits/store.ts";
import { toLimit, toLimitColumns, toLimitRow } from "#storage/catalog/limit-rows.ts";
import {
  toLimitExists,
  toLimitNotFound,
  toMissingSubject,
  toTooManyLimits,
} from "#storage/catalog/refusals.ts";
import type { TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { RecordAudit } from "./audit.ts";
import type { Connection } from "./connection.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { limits } from "./limit-schema.ts";

/** The limits, and the state of the file that they are of. */
interface Picture {
  readonly dataVersion: number;
  readonly writeCount: number;
  readonly text: string;
  readonly set: LimitSet;
}

/** The limits in catalog.db. Names and subjects are looked up under the write lock. */
export function createLimitStore(
  connection: Connection,
  recordAudit: RecordAudit,
  tell: TellUnreadable,
): LimitStore {
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
    const set = latest?.text === text ? latest.set : { limits: rows.map((row) => toLimit(row, tell)) };
    latest = { ...version, text, set };
    return set;
  };
  const getLimit = (id: string): Limit => {
    const limit = readSet().limits.find((known) => known.id === id);
    if (limit === undefined) throw toLimitNotFound();
    return limit;
  };
  const requireFreeName = (name: string): void => {
    if (orm.select({ id: limits.id }).from(limits).where(eq(limits.name, name)).get() !== undefined)
      throw toLimitExists();
  };
  const findSubjectId = (subject: NamedSubject): string | null => {
    if (subject.kind === "everybody" || subject.kind === "tag") return null;
    const secrets = subject.kind === "key" ? apiKeys : relayTokens;
    const found =
      subject.kind === "principal"
        ? orm.select({ id: principals.id }).from(principals).where(eq(principals.name, subject.name)).get()
        : orm.select({ id: secrets.id }).from(secrets).where(eq(secrets.id, subject.id)).get();
    if (found === undefined) throw toMissingSubject(subject.kind);
    return found.id;
  };

  return {
    peek: () => connection.tryQuery(recall),
    async snapshot() {
      const remembered = await connection.query(recall);
      return remembered ?? (await connection.read(readSet));
    },

    create: (limit, audit) =>
      connection.write(() => {
        requireFreeName(limit.name);
        const { total } = orm.select({ total: count() }).from(limits).get() ?? { total: 0 };
        if (total >= LIMITS_MAX) throw toTooManyLimits();
        orm
          .insert(limits)
          .values(toLimitRow(limit, findSubjectId(limit.subject)))
          .run();
        recordAudit(audit);
        return getLimit(limit.id);
      }),

    update: (id, change, audit, require) =>
      connection.write(() => {
        const before = getLimit(id);
        require?.(before);
        if (change.name !== undefined && change.name !== before.name) requireFreeName(change.name);
        const columns = toLimitColumns(change);
        if (Object.keys(columns).length > 0) orm.update(limits).set(columns).where(eq(limits.id, id)).run();
        recordAudit(audit);
        return getLimit(id);
      }),

    delete: (id, audit, require) =>
      connection.write(() => {
        const before = getLimit(id);
        require?.(before);
        orm.delete(limits).where(eq(limits.id, id)).run();
        recordAudit(audit);
      }),
  };
}
