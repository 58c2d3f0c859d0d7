import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { Limit } from "#limits/limit.ts";
import { type LimitStore, LIMITS_MAX, type NamedSubject } from "#limits/store.ts";
import { insert, select, update } from "#storage/sql/rows.ts";
import { one, run, type Script } from "#storage/sql/script.ts";
import { recordChange } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { readLimits, toLimitRow } from "./limit-rows.ts";
import { hintAtSecret } from "./secrets.ts";
import { apiKeys, limits, principals, relayTokens } from "./tables.ts";

/** The limits. Within a change memory is as the catalog's lock has found them. */
export function createLimitStore({ change, memory, isTrusted, current }: CatalogDriver): LimitStore {
  const requireLimit = (id: string) => {
    const limit = memory.limits().limits.find((known) => known.id === id);
    if (limit === undefined) throw new ProxyError("limit_not_found", "No limit has this id.");
    return limit;
  };
  const requireFreeName = (wanted: string) => {
    if (memory.limits().limits.some(({ name }) => name === wanted))
      throw new ProxyError("limit_exists", "A limit of this name exists already.", { param: "name" });
  };
  return {
    peek: () => (isTrusted() ? memory.limits() : null),
    async snapshot() {
      await current();
      return memory.limits();
    },

    create: (limit, audit) =>
      change(function* () {
        requireFreeName(limit.name);
        if (memory.limits().limits.length >= LIMITS_MAX)
          throw new ProxyError(
            "too_many_limits",
            `There are ${LIMITS_MAX} limits at most: remove one first.`,
          );
        yield* insert(limits, [toLimitRow(limit, yield* findSubjectId(limit.subject))]);
        yield* recordChange(audit, "limit", limit.id);
        return yield* readLimit(limit.id);
      }),

    update: (id, edit, audit, require) =>
      change(function* () {
        const before = requireLimit(id);
        require?.(before);
        if (edit.name !== undefined && edit.name !== before.name) requireFreeName(edit.name);
        yield* update(limits, edit, "id = ?", [id]);
        yield* recordChange(audit, "limit", id);
        return yield* readLimit(id);
      }),

    delete: (id, audit, require) =>
      change(function* () {
        const before = requireLimit(id);
        require?.(before);
        yield* run("DELETE FROM limits WHERE id = ?", [id]);
        yield* recordChange(audit, "limit", id);
      }),
  };
}

/** As the change leaves it. */
function* readLimit(id: string): Script<Limit> {
  const [limit] = yield* readLimits([id]);
  if (limit === undefined) throw new TypeError("the limit was not written");
  return limit;
}

const SUBJECTS = {
  principal: {
    sql: "SELECT id FROM principals WHERE name = ?",
    missing: "principal_not_found",
    noun: "principal",
  },
  key: { sql: "SELECT id FROM api_keys WHERE id = ?", missing: "key_not_found", noun: "key" },
  relay_token: {
    sql: "SELECT id FROM relay_tokens WHERE id = ?",
    missing: "relay_token_not_found",
    noun: "relay token",
  },
} as const;

function* findSubjectId(subject: NamedSubject): Script<string | null> {
  if (subject.kind === "everybody" || subject.kind === "tag") return null;
  const { sql, missing, noun } = SUBJECTS[subject.kind];
  const found = yield* one<{ readonly id: string }>(sql, [
    subject.kind === "principal" ? subject.name : subject.id,
  ]);
  if (found === null) {
    const hint =
      subject.kind === "principal"
        ? toHint(
            subject.name,
            (yield* select(principals, "ORDER BY name LIMIT ?", [PAGE_LIMIT_MAX])).map(({ name }) => name),
          )
        : yield* hintAtSecret(subject.kind === "key" ? apiKeys : relayTokens, { id: subject.id });
    throw new ProxyError(missing, `No such ${noun}.${hint}`, { param: "subject" });
  }
  return found.id;
}
