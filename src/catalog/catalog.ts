import { setImmediate } from "node:timers/promises";
import type { Actor } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { Precondition } from "#kernel/errors.ts";
import type { CatalogDraft, CatalogMode } from "./catalog-draft.ts";
import { planCatalog, type CatalogOutcome } from "./catalog-plan.ts";
import { type DeploymentDraft, planDeployment, planDeploymentDelete } from "./deployment.ts";
import { type FeedLoad, planFeedLoad, type FeedDraft } from "./feed.ts";
import type { ModelDraft, ModelPatch } from "./model.ts";
import {
  findModelRemoval,
  type ModelRemoval,
  planModelCreate,
  planModelDelete,
  planModelUpdate,
} from "./model-plan.ts";
import { planScheduleDelete } from "./price-schedule.ts";
import type { ProviderDraft, ProviderPatch, Provider } from "./provider.ts";
import {
  findProviderRemoval,
  planCredentialRestore,
  planFormerRemoval,
  planProviderCreate,
  planProviderDelete,
  planProviderUpdate,
  type ProviderRemoval,
} from "./provider-plan.ts";
import type { CatalogPicture, CatalogSnapshot, ResolvedModel } from "./snapshot.ts";
import type { CatalogStore } from "./store.ts";

/**
 * The curated catalog: providers, models, and prices, written with models or loaded from a feed. Each mutation is one
 * transaction, commits its audit entries with it, and is seen by the next `snapshot()`. A refusal leaves everything as it
 * was.
 */
export interface Catalog {
  snapshot(): Promise<CatalogSnapshot>;
  /** Returns the snapshot that was read last while nothing has changed since, else null: then ask `snapshot`. */
  peek(): CatalogSnapshot | null;
  /** Throws `provider_exists` and the codes of `parseProviderDraft`. */
  createProvider(draft: ProviderDraft, actor: Actor): Promise<Provider>;
  /** Throws `provider_not_found`, the codes of `parseProviderPatch` and what `require` throws. */
  updateProvider(
    name: string,
    patch: ProviderPatch,
    actor: Actor,
    require?: Precondition<Provider>,
  ): Promise<Provider>;
  /**
   * Puts the credential that was replaced within the last day back, and keeps the present one in its place. Throws
   * `provider_not_found`, `former_credential_not_found` and what `require` throws.
   */
  restoreCredential(name: string, actor: Actor, require?: Precondition<Provider>): Promise<Provider>;
  /** Removes former credentials whose day is over. */
  removeFormerCredentials(): Promise<void>;
  /** Removes its models and the names that point at them as well. Throws `provider_not_found` and what `require` throws. */
  deleteProvider(name: string, actor: Actor, require?: Precondition<Provider>): Promise<void>;
  /** Finds all that `deleteProvider` would remove. Throws as it does, and changes nothing. */
  findProviderRemoval(name: string, require?: Precondition<Provider>): Promise<ProviderRemoval>;
  /** Throws `invalid_name`, `invalid_target`, `invalid_pricing`, `invalid_price_variants`, `invalid_request`, `provider_not_found`, `alias_exists`. */
  createModel(draft: ModelDraft, actor: Actor): Promise<ResolvedModel>;
  /** Throws `model_not_found`, `invalid_date`, the codes of `createModel` and what `require` throws. */
  updateModel(
    alias: string,
    patch: ModelPatch,
    actor: Actor,
    require?: Precondition<ResolvedModel>,
  ): Promise<ResolvedModel>;
  /** Throws `model_not_found`, what `require` throws, and `model_in_use` while names point at it. */
  deleteModel(alias: string, actor: Actor, require?: Precondition<ResolvedModel>): Promise<void>;
  /** Finds all that `deleteModel` would remove. Throws as it does, and changes nothing. */
  findModelRemoval(alias: string, require?: Precondition<ResolvedModel>): Promise<ModelRemoval>;
  /** The deployment, made or there already. Throws `alias_exists` for another under its name, and the codes of `parseDeployment`. */
  deploy(draft: DeploymentDraft, actor: Actor): Promise<ResolvedModel>;
  /** By the id of its model. Throws `model_not_found`, and `model_in_use` while names point at it. */
  deleteDeployment(id: string, actor: Actor): Promise<void>;
  /** All of the feed or nothing. Throws `invalid_pricing` and `invalid_request`, as `parseFeed` does. */
  loadFeed(draft: FeedDraft, actor: Actor): Promise<FeedLoad>;
  /** Throws `schedule_not_found`. */
  deleteSchedule(id: number, actor: Actor): Promise<void>;
  /** The prices that held, of one name or of all, those that began last first. */
  listHeldPrices: CatalogStore["listHeldPrices"];
  /** The prices of some names, or of all, over time; a name that never had one is not there. */
  readPriceSpans: CatalogStore["readPriceSpans"];
  /** Finds the names that prices which are dated back have reached. */
  listRepriced: CatalogStore["listRepriced"];
  /** All of the draft or nothing; a dry run answers the same and changes nothing. Throws the codes of `planCatalog`. */
  apply(draft: CatalogDraft, call: CatalogCall): Promise<CatalogOutcome>;
}

interface CatalogCall {
  readonly mode: CatalogMode;
  readonly isDryRun: boolean;
  readonly actor: Actor;
}

interface CatalogDeps {
  readonly store: CatalogStore;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createCatalog({ store, secrets, clock, ids }: CatalogDeps): Catalog {
  // Ids and times are taken before the plan runs: a store may ask a plan more than once.
  const birth = () => ({ id: ids.uuid(), createdAtUs: clock.nowUs() });
  return {
    snapshot: () => store.snapshot(),
    peek: () => store.peek(),
    createProvider: async (draft, actor) =>
      store.change(planProviderCreate(draft, { ...birth(), secrets, actor })),
    updateProvider: async (name, patch, actor, require) =>
      store.change(
        requiring(
          toProvider(name),
          require,
          planProviderUpdate(name, patch, { secrets, actor, nowUs: clock.nowUs() }),
        ),
      ),
    restoreCredential: async (name, actor, require) =>
      store.change(
        requiring(
          toProvider(name),
          require,
          planCredentialRestore(name, { secrets, actor, nowUs: clock.nowUs() }),
        ),
      ),
    async removeFormerCredentials() {
      const plan = planFormerRemoval(await store.snapshot(), clock.nowUs());
      if (plan !== null) await store.change(plan);
    },
    deleteProvider: async (name, actor, require) =>
      store.change(requiring(toProvider(name), require, planProviderDelete(name, actor))),
    async findProviderRemoval(name, require) {
      const current = await store.snapshot();
      return requiring(toProvider(name), require, (picture) => findProviderRemoval(picture, name))(current);
    },
    createModel: async (draft, actor) => store.change(planModelCreate(draft, { ...birth(), actor })),
    updateModel: async (alias, patch, actor, require) =>
      store.change(
        requiring(toModel(alias), require, planModelUpdate(alias, patch, { actor, nowUs: clock.nowUs() })),
      ),
    deleteModel: async (alias, actor, require) =>
      store.change(requiring(toModel(alias), require, planModelDelete(alias, actor))),
    async findModelRemoval(alias, require) {
      const current = await store.snapshot();
      return requiring(toModel(alias), require, (picture) => findModelRemoval(picture, alias))(current);
    },
    deploy: async (draft, actor) =>
      store.change(planDeployment(draft, { ...birth(), providerId: ids.uuid(), secrets, actor })),
    deleteDeployment: async (id, actor) => store.change(planDeploymentDelete(id, actor)),
    loadFeed: async (draft, actor) => {
      const plan = planFeedLoad(draft, { loadedAtUs: clock.nowUs(), actor });
      // Reading 20,000 entries and writing them are each some 30 ms: what has arrived meanwhile is served in between.
      await setImmediate();
      return await store.change(plan);
    },
    deleteSchedule: async (id, actor) => store.change(planScheduleDelete(id, actor)),
    listHeldPrices: (...asked) => store.listHeldPrices(...asked),
    readPriceSpans: (names) => store.readPriceSpans(names),
    listRepriced: (...asked) => store.listRepriced(...asked),
    async apply(draft, { mode, isDryRun, actor }) {
      const births = new Map<string, ReturnType<typeof birth>>();
      const toBirth = (kind: string, name: string) => births.getOrInsertComputed(`${kind} ${name}`, birth);
      const plan = planCatalog(draft, mode, { toBirth, loadedAtUs: clock.nowUs(), secrets, actor });
      await setImmediate();
      if (!isDryRun) return await store.change(plan);
      const current = await store.snapshot();
      return plan(current).result(current);
    },
  };
}

const FORMER_REMOVAL_INTERVAL_MS = 60_000;

/** Removes former credentials at once and then every minute, also while nobody asks for their providers. What is returned ends that. */
export function keepRemovingFormer(
  catalog: Pick<Catalog, "removeFormerCredentials">,
  log: Pick<Log, "warn">,
): () => Promise<void> {
  let removing: Promise<void> = Promise.resolve();
  const remove = () => {
    removing = catalog.removeFormerCredentials().catch((cause: unknown) => {
      log.warn("former credentials could not be removed: the next minute tries again", describeCause(cause));
    });
  };
  const timer = setInterval(remove, FORMER_REMOVAL_INTERVAL_MS);
  remove();
  return async () => {
    clearInterval(timer);
    await removing;
  };
}

type Find<Resource> = (current: CatalogPicture) => Resource | null;

const toProvider =
  (name: string): Find<Provider> =>
  (current) =>
    current.findProvider(name);
const toModel =
  (alias: string): Find<ResolvedModel> =>
  (current) =>
    current.findModel(alias);

/** A plan that holds only while what it changes stands as required. What is missing is the plan's to refuse. */
function requiring<Resource, Plan>(
  find: Find<Resource>,
  require: Precondition<Resource> | undefined,
  plan: (current: CatalogPicture) => Plan,
): (current: CatalogPicture) => Plan {
  return (current) => {
    const found = find(current);
    if (found !== null) require?.(found);
    return plan(current);
  };
}
