import { setImmediate } from "node:timers/promises";
import type { Actor } from "#audit/event.ts";
import type { CatalogDraft } from "#catalog/catalog-draft.ts";
import { type CatalogOutcome, planCatalog } from "#catalog/catalog-plan.ts";
import type { CatalogPlan } from "#catalog/store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import type { LimitAdmin } from "#limits/limit-admin.ts";
import type { PeopleDraft } from "./people-draft.ts";
import type { PeopleOutcome } from "./people-change.ts";
import { planPeople } from "./people-plan.ts";
import type { InstallationPicture, PeopleStore } from "./store.ts";

/** A whole installation as a file: its catalog, principals, keys and limits. */
export interface People {
  read(): Promise<InstallationPicture>;
  /** All of the draft or nothing; a dry run answers the same and changes nothing. Throws the codes of `planCatalog` and `planPeople`. */
  apply(draft: InstallationDraft, call: PeopleCall): Promise<InstallationOutcome>;
}

export interface InstallationDraft {
  /** Null: it is left alone. */
  readonly catalog: CatalogDraft | null;
  readonly people: PeopleDraft;
}

export interface InstallationOutcome {
  readonly catalog: CatalogOutcome;
  readonly people: PeopleOutcome;
}

export interface PeopleCall {
  /** Whether what the file does not have is removed, in each section that it has. */
  readonly isPruned: boolean;
  readonly isDryRun: boolean;
  readonly actor: Actor;
}

export interface PeopleDeps {
  readonly store: PeopleStore;
  readonly limits: Pick<LimitAdmin, "follow">;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
}

const NO_CHANGE: CatalogOutcome = {
  changes: [],
  kept: { providers: 0, models: 0, prices: 0, pricesToCome: 0 },
  missing: [],
};
const UNCHANGED: CatalogPlan<CatalogOutcome> = () => ({ writes: [], audit: [], result: () => NO_CHANGE });

export function createPeople({ store, limits, secrets, clock, ids }: PeopleDeps): People {
  return {
    read: () => store.snapshot(),
    async apply(draft, { isPruned, isDryRun, actor }) {
      // Ids and times are taken once for each name: a store may ask a plan more than once.
      const births = new Map<string, { readonly id: string; readonly createdAtUs: number }>();
      const toBirth = (kind: string, name: string) =>
        births.getOrInsertComputed(`${kind} ${name}`, () => ({ id: ids.uuid(), createdAtUs: clock.nowUs() }));
      const birth = { toBirth, loadedAtUs: clock.nowUs(), secrets, actor };
      const mode = isPruned ? "prune" : "keep";
      const toCatalog = draft.catalog === null ? UNCHANGED : planCatalog(draft.catalog, mode, birth);
      const toPeople = planPeople(draft.people, { isPruned, ...birth });
      await setImmediate();
      if (isDryRun) {
        const { catalog, people } = await store.rehearse();
        return { catalog: toCatalog(catalog).result(catalog), people: toPeople(people).result };
      }
      const outcome = await store.change(toCatalog, toPeople);
      if (outcome.people.changes.length > 0) await limits.follow();
      return outcome;
    },
  };
}
