import { type Actor, toAuditEntry } from "#audit/event.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { ProxyError, type Precondition } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { toTagKey } from "#kernel/tags.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { NONE_USED } from "./limit-counter.ts";
import type { LimitRefusals, LimitUse } from "./limit-entry.ts";
import {
  type LimitDraft,
  type LimitPatch,
  parseLimitDraft,
  parseLimitPatch,
  parseSubjectFilter,
} from "./limit-draft.ts";
import type { Used } from "./limit-sums.ts";
import type { Limits } from "./limits.ts";
import type { Limit } from "./limit.ts";
import { getLimit, type LimitStore, type NamedSubject } from "./store.ts";

/** A limit with what was used of it. */
export interface LimitState {
  readonly limit: Limit;
  readonly nowUs: InstantUs;
  /** The value of `each` that is closest to the amount; the only one without `each`. */
  readonly used: Used;
  /** Empty without `each`, else the most used first. */
  readonly top: readonly LimitUse[];
  readonly refusals: LimitRefusals;
}

/** Whose limits are asked for. */
interface LimitOwner {
  readonly principalId: string;
  readonly keyIds: readonly string[];
  readonly relayTokenIds: readonly string[];
  /** The pairs that are fixed on it, its keys or its relay tokens: requests have them, whatever they are sent with. */
  readonly fixedTags: readonly string[];
}

export interface LimitAdmin {
  /** By name. `subject`: as `parseSubjectFilter` reads it and throws; null for all. */
  list(subject: string | null, page: Page): Promise<Paged<LimitState>>;
  /** All of them, by name, without what was used: that is not added up. */
  listPlain(): Promise<readonly Limit[]>;
  /** Throws `limit_not_found`. */
  get(id: string): Promise<LimitState>;
  /** What was used, the most used first: a row for each value of `each`. Throws `limit_not_found`. */
  listUses(id: string, page: Page): Promise<Paged<LimitUse> & { readonly limit: Limit }>;
  /** Holds from the next request on. Throws as `parseLimitDraft` and `LimitStore.create`. */
  create(draft: LimitDraft, actor: Actor): Promise<LimitState>;
  /** Throws as `parseLimitPatch` and `LimitStore.update`. */
  update(id: string, patch: LimitPatch, actor: Actor, require?: Precondition<Limit>): Promise<LimitState>;
  /** Throws as `LimitStore.delete`. */
  delete(id: string, actor: Actor, require?: Precondition<Limit>): Promise<void>;
  /** The limit that `delete` would remove. Throws as it does, and changes nothing. */
  findRemoval(id: string, require?: Precondition<Limit>): Promise<Limit>;
  /** After a change of limits that others have made: what was used of them is there when this is fulfilled. */
  follow(): Promise<void>;
  /** Those that hold for its requests whatever they are tagged with, with what it has used itself where they tell callers apart. */
  listOwn(owner: LimitOwner): Promise<readonly LimitState[]>;
}

interface LimitAdminDeps {
  readonly store: LimitStore;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Values of `each` that a limit itself tells of; all of them are a list of its own. */
const TOP_MAX = 10;

export function createLimitAdmin({ store, limits, clock, ids }: LimitAdminDeps): LimitAdmin {
  const listAll = async (): Promise<readonly Limit[]> => {
    await limits.follow();
    return listPlain();
  };
  const listPlain = async () => byName((await store.snapshot()).limits);
  /** After a change, which is committed: that the ledger is away must not be told as if nothing had been made. */
  const followChange = async (): Promise<void> => {
    try {
      await limits.follow();
    } catch (cause) {
      throw new ProxyError(
        "internal_error",
        "The change was made, but what was used could not be added up. Requests that it concerns wait until it can be.",
        { cause },
      );
    }
  };
  const toState = (limit: Limit, uses: readonly LimitUse[]): LimitState => ({
    limit,
    nowUs: clock.nowUs(),
    used: uses[0] ?? NONE_USED,
    top: limit.each === null ? [] : uses.slice(0, TOP_MAX),
    refusals: limits.book.refusalsOf(limit.id),
  });
  const readState = (limit: Limit) => toState(limit, limits.book.listUses(limit.id, clock.nowUs()));
  const toEntry = (actor: Actor, action: "limit.create" | "limit.update" | "limit.delete", id: string) =>
    toAuditEntry(actor, { action, targetKind: "limit", targetRef: id });

  return {
    async list(subject, page) {
      const wanted = subject === null ? null : parseSubjectFilter(subject);
      const chosen = (await listAll()).filter((limit) => wanted === null || isOf(limit, wanted));
      const rows = chosen.slice(page.offset, page.offset + page.limit).map(readState);
      return { rows, total: chosen.length };
    },
    listPlain,
    get: async (id) => readState(getLimit(await listAll(), id)),
    async listUses(id, page) {
      const limit = getLimit(await listAll(), id);
      const uses = limits.book.listUses(id, clock.nowUs());
      return { limit, rows: uses.slice(page.offset, page.offset + page.limit), total: uses.length };
    },
    async create(draft, actor) {
      const id = ids.uuid();
      const limit = { ...parseLimitDraft(draft), id, createdAtUs: clock.nowUs() };
      const made = await store.create(limit, toEntry(actor, "limit.create", id));
      await followChange();
      return readState(made);
    },
    async update(id, patch, actor, require) {
      // Without the sums: one that cannot be added up is switched off here.
      const { limits: all } = await store.snapshot();
      const change = parseLimitPatch(getLimit(all, id), patch);
      const changed = await store.update(id, change, toEntry(actor, "limit.update", id), require);
      await followChange();
      return readState(changed);
    },
    async delete(id, actor, require) {
      await store.delete(id, toEntry(actor, "limit.delete", id), require);
      await followChange();
    },
    async findRemoval(id, require) {
      const limit = getLimit((await store.snapshot()).limits, id);
      require?.(limit);
      return limit;
    },
    follow: followChange,
    async listOwn(owner) {
      const nowUs = clock.nowUs();
      return (await listAll()).flatMap((limit) => {
        if (!limit.enabled || !holdsFor(limit, owner)) return [];
        const values = toOwnValues(limit, owner);
        if (values === null) return [{ ...readState(limit), top: [] }];
        const uses = values.map((value) => limits.book.findUse(limit.id, value, nowUs));
        uses.sort((one, other) => (one.amount < other.amount ? 1 : one.amount > other.amount ? -1 : 0));
        const state = toState(limit, uses);
        return [limit.each?.kind === "principal" ? { ...state, top: [] } : state];
      });
    },
  };
}

function byName(limits: readonly Limit[]): readonly Limit[] {
  return limits.toSorted((left, right) => compareCodeUnits(left.name, right.name));
}

function isOf({ subject }: Limit, wanted: NamedSubject): boolean {
  switch (wanted.kind) {
    case "everybody":
      return subject.kind === "everybody";
    case "principal":
      return subject.kind === "principal" && subject.name === wanted.name;
    case "tag":
      return subject.kind === "tag" && subject.pair === wanted.pair;
    default:
      return subject.kind === wanted.kind && subject.id === wanted.id;
  }
}

/** A limit of a tag holds for the requests that are sent with it, and for a caller only where the tag is fixed. */
function holdsFor({ subject, each }: Limit, owner: LimitOwner): boolean {
  const { principalId, keyIds, relayTokenIds, fixedTags } = owner;
  if (each?.kind === "tag" && !fixedTags.some((pair) => toTagKey(pair) === each.key)) return false;
  switch (subject.kind) {
    case "everybody":
      return true;
    case "principal":
      return subject.id === principalId;
    case "key":
      return keyIds.includes(subject.id);
    case "relay_token":
      return relayTokenIds.includes(subject.id);
    default:
      return fixedTags.includes(subject.pair);
  }
}

/** Null: all that it holds for share one amount. */
function toOwnValues({ each }: Limit, owner: LimitOwner): readonly string[] | null {
  if (each === null) return null;
  if (each.kind === "tag") return owner.fixedTags.filter((pair) => toTagKey(pair) === each.key);
  return each.kind === "key" ? owner.keyIds : [owner.principalId];
}
