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
import { toLimitRow } from "./limit-rows.ts";
import type { StoreMemory } from "./memory.ts";
import { removePrincipal } from "./principals.ts";
import { requireSecretPresent } from "./secret-state.ts";
import { removeKey, selectListed } from "./secrets.ts";
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
        for (const write of planned.writes) yield* applyWrite(write, { keyRows, memory });
        yield* recordAudit(planned.audit);
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
function* applyWrite(write: PeopleWrite, { keyRows, memory }: Found): Script<void> {
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
      yield* removeKey(write.id, memory.limits());
      return;
    case "delete_principal":
      yield* removePrincipal(write.id, memory.limits());
  }
}

function requireOne({ kind }: PeopleWrite, count: number): void {
  if (count !== 1) throw new TypeError(`${kind} found no row`);
}
