import type { Limit } from "#limits/limit.ts";
import { type LimitStore, LIMITS_MAX, type NamedSubject } from "#limits/store.ts";
import { count, insert, update } from "#storage/sql/rows.ts";
import { one, run, type Script } from "#storage/sql/script.ts";
import type { RecordAudit } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { changed } from "./change.ts";
import { readLimits } from "./limit-memory.ts";
import { toLimitColumns, toLimitRow } from "./limit-rows.ts";
import { toLimitExists, toLimitNotFound, toMissingSubject, toTooManyLimits } from "./refusals.ts";
import { limits } from "./tables.ts";

/** The limits. Names and subjects are looked up under the catalog's lock. */
export function createLimitStore(
  { change, memory }: Pick<CatalogDriver, "change" | "memory">,
  recordAudit: RecordAudit,
): LimitStore {
  return {
    peek: () => (memory.isTrusted() ? memory.limits() : null),
    async snapshot() {
      await memory.current();
      return memory.limits();
    },

    create: (limit, audit) =>
      change(function* () {
        yield* requireFreeName(limit.name);
        if ((yield* count(limits)) >= LIMITS_MAX) throw toTooManyLimits();
        yield* insert(limits, [toLimitRow(limit, yield* findSubjectId(limit.subject))]);
        yield* recordAudit([audit]);
        yield* changed("limit", limit.id);
        return yield* getLimit(limit.id);
      }),

    update: (id, edit, audit, require) =>
      change(function* () {
        const before = yield* getLimit(id);
        require?.(before);
        if (edit.name !== undefined && edit.name !== before.name) yield* requireFreeName(edit.name);
        yield* update(limits, toLimitColumns(edit), "id = ?", [id]);
        yield* recordAudit([audit]);
        yield* changed("limit", id);
        return yield* getLimit(id);
      }),

    delete: (id, audit, require) =>
      change(function* () {
        const before = yield* getLimit(id);
        require?.(before);
        yield* run("DELETE FROM limits WHERE id = ?", [id]);
        yield* recordAudit([audit]);
        yield* changed("limit", id);
      }),
  };
}

function* getLimit(id: string): Script<Limit> {
  const [limit] = yield* readLimits([id]);
  if (limit === undefined) throw toLimitNotFound();
  return limit;
}

function* requireFreeName(name: string): Script<void> {
  if ((yield* one("SELECT id FROM limits WHERE name = ?", [name])) !== null) throw toLimitExists();
}

const SUBJECTS = {
  principal: "SELECT id FROM principals WHERE name = ?",
  key: "SELECT id FROM api_keys WHERE id = ?",
  relay_token: "SELECT id FROM relay_tokens WHERE id = ?",
} as const;

function* findSubjectId(subject: NamedSubject): Script<string | null> {
  if (subject.kind === "everybody" || subject.kind === "tag") return null;
  const key = subject.kind === "principal" ? subject.name : subject.id;
  const found = yield* one<{ readonly id: string }>(SUBJECTS[subject.kind], [key]);
  if (found === null) throw toMissingSubject(subject.kind);
  return found.id;
}
