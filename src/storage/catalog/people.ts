import type { AuditChange } from "#audit/change.ts";
import type { AuditEntry } from "#audit/event.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { PeoplePicture, PeopleStore, PeopleWrite, StoredKey } from "#people/store.ts";
import { insert, select, update } from "#storage/sql/rows.ts";
import { run, type Script } from "#storage/sql/script.ts";
import { recordAudit } from "./audit.ts";
import { applyPlan } from "./catalog.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import {
  applySecretChange,
  type ListedSecretRow,
  toListedSecret,
  toPrincipal,
  toSecretRow,
} from "./catalog-rows.ts";
import { changed, changeTransaction } from "./change.ts";
import { readLimits, toLimitRow } from "./limit-rows.ts";
import { toLimitChange } from "./limits.ts";
import type { StoreMemory } from "./memory.ts";
import { type Owned, removePrincipal, toPrincipalChange, toPrincipalRemoval } from "./principals.ts";
import { requireSecretPresent } from "./secret-state.ts";
import { KEYS, removeSecret, selectListed, toSecretChange } from "./secrets.ts";
import { apiKeys, limits, oidcSubjects, principals, relayTokens } from "./tables.ts";

/** Principals, keys and limits together with the catalog, for a file of the whole installation. */
export function createPeopleStore({ read, change, memory, current }: CatalogDriver): PeopleStore {
  const snapshot = async () => {
    await current();
    return read(function* () {
      return { catalog: memory.catalog(), people: (yield* readPeople(memory)).picture };
    });
  };
  return {
    snapshot,
    async rehearse() {
      const found = await snapshot();
      requireSecretPresent(memory.secrets);
      return found;
    },
    async change(toCatalog, toPeople) {
      const after: CatalogSnapshot[] = [];
      const { toResult, people } = await change(function* () {
        requireSecretPresent(memory.secrets);
        const { picture, keyRows } = yield* readPeople(memory);
        const planned = toPeople(picture);
        const { result } = yield* applyPlan(toCatalog, memory);
        const removed = new Map<string, Owned>();
        for (const write of planned.writes) yield* applyWrite(write, { keyRows, memory, removed });
        if (planned.audit.length > 0) {
          const now = yield* readPeople(memory);
          // Memory has the limits of before until the commit.
          const left = { ...now.picture, limits: yield* readLimits(null) };
          const tell = toTelling(picture, left, removed);
          yield* recordAudit(planned.audit.map((entry) => ({ ...entry, change: tell(entry) })));
        }
        (yield* changeTransaction()).onTakenOver = () => void after.push(memory.catalog());
        return { toResult: result, people: planned.result };
      });
      return { catalog: toResult(after.at(0) ?? memory.catalog()), people };
    },
  };
}

interface Found {
  /** By id. */
  readonly keyRows: ReadonlyMap<string, ListedSecretRow>;
  readonly memory: StoreMemory;
  /** Entities that went with principals, by their ids. */
  readonly removed: Map<string, Owned>;
}

/** Tells the change of each entry of people as they were and as they are. */
function toTelling(before: PeoplePicture, after: PeoplePicture, removed: ReadonlyMap<string, Owned>) {
  const index = ({ principals: people, keys, limits: list }: PeoplePicture) => ({
    principals: new Map(people.map((principal) => [principal.id, principal])),
    keys: new Map(keys.map((key) => [key.id, key])),
    limits: new Map(list.map((limit) => [limit.id, limit])),
  });
  const [was, is] = [index(before), index(after)];
  return ({ targetKind, targetRef: id }: AuditEntry): AuditChange | null => {
    switch (targetKind) {
      case "principal": {
        const principal = was.principals.get(id) ?? null;
        const owned = removed.get(id);
        if (principal !== null && owned !== undefined) return toPrincipalRemoval(principal, owned);
        return toPrincipalChange(principal, is.principals.get(id) ?? null);
      }
      case "api_key":
        return toSecretChange(was.keys.get(id) ?? null, is.keys.get(id) ?? null).change;
      case "limit":
        return toLimitChange(was.limits.get(id) ?? null, is.limits.get(id) ?? null).change;
      default:
        return null;
    }
  };
}

function* readPeople(
  memory: StoreMemory,
): Script<Pick<Found, "keyRows"> & { readonly picture: PeoplePicture }> {
  const rows = yield* select(principals, "ORDER BY name");
  const subjects = yield* select(oidcSubjects);
  const keys = yield* selectListed(apiKeys, "ORDER BY api_keys.created_at_us, api_keys.id", []);
  const tokens = yield* select(relayTokens, "ORDER BY created_at_us, id");
  const picture = {
    principals: rows.map((row) => toPrincipal(row, memory.tell)),
    ssoIds: new Set(subjects.map(({ principalId }) => principalId)),
    keys: keys.map(toStoredKey),
    relayTokens: tokens.map(({ id, principalId, label }) => ({ id, principalId, label })),
    limits: memory.limits().limits,
  };
  return { picture, keyRows: new Map(keys.map((row) => [row.id, row])) };
}

function toStoredKey(row: ListedSecretRow): StoredKey {
  const { hash, formerHash } = row;
  return { ...toListedSecret(row), hash, formerHash };
}

/** A row that a step does not find is a mistake of its plan, not a race. */
function* applyWrite(write: PeopleWrite, { keyRows, memory, removed }: Found): Script<void> {
  switch (write.kind) {
    case "create_principal":
      yield* insert(principals, [write.principal]);
      yield* changed("principal", write.principal.id);
      return;
    case "update_principal":
      requireOne(write, yield* update(principals, write.change, "id = ?", [write.id]));
      yield* changed("principal", write.id);
      return;
    case "create_key":
      yield* insert(apiKeys, [toSecretRow(write.key)]);
      yield* changed("key", write.key.id);
      return;
    case "update_key": {
      const row = keyRows.get(write.id);
      if (row === undefined) throw new TypeError("update_key found no row");
      const { columns } = applySecretChange(row, () => write.change);
      yield* update(apiKeys, columns, "id = ?", [write.id]);
      yield* changed("key", write.id);
      return;
    }
    case "create_limit":
      yield* insert(limits, [toLimitRow(write.limit, write.subjectId)]);
      yield* changed("limit", write.limit.id);
      return;
    case "update_limit":
      requireOne(write, yield* update(limits, write.change, "id = ?", [write.id]));
      yield* changed("limit", write.id);
      return;
    case "delete_limit":
      requireOne(write, yield* run("DELETE FROM limits WHERE id = ?", [write.id]));
      yield* changed("limit", write.id);
      return;
    case "delete_key":
      yield* removeSecret(KEYS, write.id, memory.limits());
      return;
    case "delete_principal":
      removed.set(write.id, yield* removePrincipal(write.id, memory.limits()));
  }
}

function requireOne({ kind }: PeopleWrite, count: number): void {
  if (count !== 1) throw new TypeError(`${kind} found no row`);
}
