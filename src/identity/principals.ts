import { type Actor, type AuditAction, type AuditEntry, toAuditEntry } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError, type Precondition } from "#kernel/errors.ts";
import { parseWord } from "#kernel/fields.ts";
import type { Ids } from "#kernel/ids.ts";
import { toHint, toIdHint, withHint } from "#kernel/nearest.ts";
import { PAGE_LIMIT_MAX, type Page, type Paged } from "#kernel/page.ts";
import { isName, NAME_LENGTH_MAX } from "#kernel/text.ts";
import {
  type Principal,
  type PrincipalChange,
  ADMIN_PRINCIPAL_NAME,
  PRINCIPAL_KINDS,
  ROLES,
} from "./principal.ts";
import { parseFixedTags } from "./secret.ts";
import type { IdentityStore, PrincipalRemoval } from "./store.ts";

export interface PrincipalDraft {
  readonly name: string;
  /** Default `user`. */
  readonly kind?: string | undefined;
  /** Default `member`. */
  readonly role?: string | undefined;
  /** A list of `name:value`, or null for none. */
  readonly tags?: unknown;
}

interface PrincipalPatch {
  readonly role?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly tags?: unknown;
}

export interface Principals {
  /** Throws `invalid_name`, `invalid_request` (param `kind` or `role`), `invalid_tags` and `principal_exists`. */
  create(draft: PrincipalDraft, actor: Actor): Promise<Principal>;
  /** The principal of the admin password: made at first start, left as it is when it exists. */
  ensureAdmin(): Promise<Principal>;
  /** Throws `principal_not_found`, with param `principal`. */
  getByName(name: string): Promise<Principal>;
  findByName(name: string): Promise<Principal | null>;
  /** By name. */
  list(page: Page): Promise<Paged<Principal>>;
  /** Throws `invalid_request` (param `role`), `invalid_tags`, `principal_not_found` and `last_admin`. */
  update(
    id: string,
    patch: PrincipalPatch,
    actor: Actor,
    require?: Precondition<Principal>,
  ): Promise<Principal>;
  /** Its keys, relay tokens and sessions go with it, its usage stays. Throws `principal_not_found` and `last_admin`. */
  delete(id: string, actor: Actor, require?: Precondition<Principal>): Promise<void>;
  /** Finds all that `delete` would remove. Throws as it does, and changes nothing. */
  findRemoval(id: string, require?: Precondition<Principal>): Promise<PrincipalRemoval>;
  /** The browser sessions of one principal or of all (null), the one seen last first. */
  listSessions(id: string | null): ReturnType<IdentityStore["listSessions"]>;
  /** Ends every browser session but that of `keptTokenHash` and returns how many; keys stay. Throws `principal_not_found`. */
  revokeSessions(id: string, actor: Actor, keptTokenHash?: string | null): Promise<number>;
}

interface PrincipalsDeps {
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** The principals (specification, section 2.8). */
export function createPrincipals({ store, clock, ids }: PrincipalsDeps): Principals {
  const birth = () => ({ id: ids.uuid(), enabled: true, createdAtUs: clock.nowUs() });
  /** The names that a hint looks at. */
  const listFirst = async () => (await store.listPrincipals({ limit: PAGE_LIMIT_MAX, offset: 0 })).rows;
  const hinting = <Result>(id: string, change: Promise<Result>) =>
    withHint(change, "principal_not_found", async () => toIdHint(id, await listFirst()));
  return {
    async create(draft, actor) {
      const principal: Principal = { ...parsePrincipalDraft(draft), ...birth() };
      await store.createPrincipal(principal, toPrincipalEntry(actor, "principal.create", principal.id));
      return principal;
    },
    ensureAdmin: () =>
      store.ensurePrincipal({
        name: ADMIN_PRINCIPAL_NAME,
        kind: "user",
        role: "admin",
        tags: [],
        ...birth(),
      }),
    async getByName(name) {
      const found = await store.findPrincipalByName(name);
      if (found !== null) return found;
      const rows = await listFirst();
      const hint = toHint(
        name,
        rows.map((principal) => principal.name),
      );
      throw new ProxyError("principal_not_found", `No such principal.${hint}`, { param: "principal" });
    },
    findByName: (name) => store.findPrincipalByName(name),
    list: (page) => store.listPrincipals(page),
    update: async (id, patch, actor, require) => {
      const entry = toPrincipalEntry(actor, "principal.update", id);
      return await hinting(id, store.updatePrincipal(id, parsePatch(patch), entry, require));
    },
    delete: (id, actor, require) =>
      hinting(id, store.deletePrincipal(id, toPrincipalEntry(actor, "principal.delete", id), require)),
    findRemoval: (id, require) => hinting(id, store.findPrincipalRemoval(id, clock.nowUs(), require)),
    listSessions: (id) => store.listSessions(id, clock.nowUs()),
    revokeSessions: (id, actor, keptTokenHash = null) =>
      hinting(id, store.revokeSessions(id, toPrincipalEntry(actor, "session.revoke", id), keptTokenHash)),
  };
}

/** Throws `invalid_name`, `invalid_tags`, and `invalid_request` with param `kind` or `role`. */
export function parsePrincipalDraft(
  draft: PrincipalDraft,
): Pick<Principal, "name" | "kind" | "role" | "tags"> {
  if (!isName(draft.name)) {
    throw new ProxyError(
      "invalid_name",
      `A principal's name is 1 to ${NAME_LENGTH_MAX} lower-case letters, digits, dots, dashes and underscores, and starts with a letter or digit.`,
      { param: "name" },
    );
  }
  return {
    name: draft.name,
    kind: parseWord(draft.kind ?? "user", PRINCIPAL_KINDS, "kind"),
    role: parseWord(draft.role ?? "member", ROLES, "role"),
    tags: parseFixedTags(draft.tags ?? null),
  };
}

function parsePatch(patch: PrincipalPatch): PrincipalChange {
  return {
    ...(patch.role !== undefined && { role: parseWord(patch.role, ROLES, "role") }),
    ...(patch.enabled !== undefined && { enabled: patch.enabled }),
    ...(patch.tags !== undefined && { tags: parseFixedTags(patch.tags) }),
  };
}

function toPrincipalEntry(actor: Actor, action: AuditAction, principalId: string): AuditEntry | null {
  return toAuditEntry(actor, { action, targetKind: "principal", targetRef: principalId });
}
