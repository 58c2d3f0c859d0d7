import { toAuditChange } from "#audit/change.ts";
import { ProxyError } from "#kernel/errors.ts";
import { withHint } from "#kernel/nearest.ts";
import type { Limit } from "#limits/limit.ts";
import { toLimitFields } from "#limits/limit-fields.ts";
import { getLimit, type LimitStore, LIMITS_MAX, type NamedSubject } from "#limits/store.ts";
import { insert, update } from "#storage/sql/rows.ts";
import { one, run, type Script } from "#storage/sql/script.ts";
import { recordChange } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { readLimits, toLimitRow } from "./limit-rows.ts";
import { hintAtPrincipal, hintAtSecret } from "./hints.ts";
import { KEYS, RELAY_TOKENS } from "./secrets.ts";
import { limits, principals } from "./tables.ts";

/** The limits. Within a change memory is as the catalog's lock has found them. */
export function createLimitStore({ ask, change, memory, isTrusted, current }: CatalogDriver): LimitStore {
  const requireLimit = (id: string) => getLimit(memory.limits().limits, id);
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

    create(limit, audit) {
      const made = change(function* () {
        requireFreeName(limit.name);
        if (memory.limits().limits.length >= LIMITS_MAX)
          throw new ProxyError(
            "too_many_limits",
            `There are ${LIMITS_MAX} limits at most: remove one first.`,
          );
        yield* insert(limits, [toLimitRow(limit, yield* findSubjectId(limit.subject))]);
        const after = yield* readLimit(limit.id);
        yield* recordChange(audit, "limit", toLimitChange(null, after));
        return after;
      });
      const { subject } = limit;
      if (subject.kind === "everybody" || subject.kind === "tag") return made;
      const { missing, hintAt } = SUBJECTS[subject.kind];
      return withHint(made, missing, () => ask(() => hintAt(toTyped(subject))));
    },

    update: (id, edit, audit, require) =>
      change(function* () {
        const before = requireLimit(id);
        require?.(before);
        if (edit.name !== undefined && edit.name !== before.name) requireFreeName(edit.name);
        yield* update(limits, edit, "id = ?", [id]);
        const after = yield* readLimit(id);
        yield* recordChange(audit, "limit", toLimitChange(before, after));
        return after;
      }),

    delete: (id, audit, require) =>
      change(function* () {
        const before = requireLimit(id);
        require?.(before);
        yield* run("DELETE FROM limits WHERE id = ?", [id]);
        yield* recordChange(audit, "limit", toLimitChange(before, null));
      }),
  };
}

export function toLimitChange(before: Limit | null, after: Limit | null) {
  const { id = "", name = null } = after ?? before ?? {};
  return { id, change: toAuditChange(name, before && toLimitFields(before), after && toLimitFields(after)) };
}

/** As the change leaves it. */
function* readLimit(id: string): Script<Limit> {
  const [limit] = yield* readLimits([id]);
  if (limit === undefined) throw new TypeError("the limit was not written");
  return limit;
}

const SUBJECTS = {
  principal: {
    table: principals,
    by: "name",
    missing: "principal_not_found",
    noun: "principal",
    hintAt: hintAtPrincipal,
  },
  key: toSubject(KEYS),
  relay_token: toSubject(RELAY_TOKENS),
} as const;

function toSubject({ table, missing, noun }: typeof KEYS) {
  return { table, by: "id", missing, noun, hintAt: (id: string) => hintAtSecret(table, { id }) };
}

type OwnedSubject = Extract<NamedSubject, { readonly kind: keyof typeof SUBJECTS }>;

/** Principals are named, keys and relay tokens have their id. */
function toTyped(subject: OwnedSubject): string {
  return subject.kind === "principal" ? subject.name : subject.id;
}

function* findSubjectId(subject: NamedSubject): Script<string | null> {
  if (subject.kind === "everybody" || subject.kind === "tag") return null;
  const { table, by, missing, noun } = SUBJECTS[subject.kind];
  const found = yield* one<{ readonly id: string }>(`SELECT id FROM ${table.name} WHERE ${by} = ?`, [
    toTyped(subject),
  ]);
  if (found === null) throw new ProxyError(missing, `No such ${noun}.`, { param: "subject" });
  return found.id;
}
