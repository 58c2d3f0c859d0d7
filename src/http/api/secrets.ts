import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { toActor, toMaker } from "#http/door/guard.ts";
import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import { toSecretRemovalView } from "#views/removals.ts";
import { PAGE_QUERY, pageView } from "#http/door/paging.ts";
import { type Asked, json, type JsonAnswer, type QueryParam, route } from "#http/door/route.ts";
import {
  ALICE,
  ALICE_KEY,
  ID,
  INSTANT,
  LATER,
  MODEL,
  OWN_KEY,
  PAGE,
  RELAY_TOKEN,
} from "#http/schemas/examples.ts";
import {
  AdminKeyCreated,
  AdminKeyView,
  AdminRelayTokenView,
  KeyCreated,
  KeyView,
  RelayTokenCreated,
  RelayTokenView,
} from "#http/schemas/identity.ts";
import {
  AdminKeyCreateRequest,
  AdminKeyPatchRequest,
  AdminKeyRotateRequest,
  AdminRelayTokenPatchRequest,
  KeyCreateRequest,
  KeyPatchRequest,
  KeyRotateRequest,
  RelayTokenCreateRequest,
  RelayTokenPatchRequest,
} from "#http/schemas/secret-requests.ts";
import { DeletedOrRemoval, listOf, pageOf } from "#http/schemas/shared.ts";
import type { Caller } from "#identity/caller.ts";
import type { Keys, OwnedSecrets, SecretPatch } from "#identity/keys.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { Principals } from "#identity/principals.ts";
import type { ListedSecret } from "#identity/secret.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import { PAGE_LIMIT_MAX, parsePage } from "#kernel/page.ts";
import { withinLimit } from "#kernel/timer.ts";
import { toKeyView, toOwnedKeyView, toOwnedRelayTokenView, toRelayTokenView } from "#views/identity.ts";

export interface SecretDeps {
  readonly keys: Keys;
  readonly relayTokens: OwnedSecrets;
  readonly keyUse: KeyUse;
}

export interface OwnSecretDeps extends SecretDeps {
  /** Null: there is no messages API to relay to. */
  readonly relay: object | null;
}

export interface AdminSecretDeps extends SecretDeps {
  readonly principals: Principals;
}

const OWN = { access: "caller", tag: "Self-service" } as const;
const ADMIN = { access: "admin", tag: "People" } as const;

/** A caller's own API keys and relay tokens (specification, section 4.3). */
export function ownSecretRoutes({ keys, relayTokens, keyUse, relay }: OwnSecretDeps) {
  const key = toSecretRoutes(KEY, {
    secrets: keys,
    keyUse,
    surface: OWN,
    example: toExample("key", ID.ownKey, OWN_KEY),
    view: KeyView,
    toView: toKeyView,
  });
  const token = toSecretRoutes(TOKEN, {
    secrets: relayTokens,
    keyUse,
    surface: OWN,
    example: toExample("token", ID.ownToken, RELAY_TOKEN),
    view: RelayTokenView,
    toView: toRelayTokenView,
  });
  return [
    route({
      ...OWN,
      method: "POST",
      path: "/my/keys",
      summary: "Make a key of one's own",
      body: KeyCreateRequest,
      example: { label: key.example.label },
      isBodyOptional: true,
      answer: json(201, KeyCreated, { ...key.example, key: OWN_KEY }),
      errors: [...KEY.termErrors, "admin_required", "too_many_keys"],
      run: async ({ body, caller }) => {
        const { view, plaintext } = await key.create(body, caller, caller.principal);
        return { ...view, key: plaintext };
      },
    }),
    route({
      ...OWN,
      method: "GET",
      path: "/my/keys",
      summary: "One's own keys",
      answer: json(200, listOf("keys", KeyView), { keys: [key.example] }),
      errors: ["reports_busy"],
      run: async ({ caller }) => ({ keys: await key.listOwn(caller) }),
    }),
    route({ path: "/my/keys/:id", ...key.toChange(KeyPatchRequest) }),
    route({
      path: "/my/keys/:id/rotate",
      ...key.toRotation(KeyRotateRequest, json(200, KeyCreated, { ...key.example, key: OWN_KEY })),
      run: async ({ params, body, caller }) => {
        const { secret, plaintext } = await rotate(keys, key.filter(params.id, caller), body, caller);
        return { ...(await key.toChangedView(secret)), key: plaintext };
      },
    }),
    route({ path: "/my/keys/:id", ...key.removal }),
    route({
      ...OWN,
      method: "POST",
      path: "/my/relay-tokens",
      summary: "Make a relay token of one's own",
      body: RelayTokenCreateRequest,
      example: { label: token.example.label },
      isBodyOptional: true,
      answer: json(201, RelayTokenCreated, { ...token.example, token: RELAY_TOKEN }),
      errors: [...TOKEN.termErrors, "admin_required", "too_many_relay_tokens"],
      run: async ({ body, caller }) => {
        const { view, plaintext } = await token.create(body, caller, caller.principal);
        return { ...view, token: plaintext };
      },
    }),
    route({
      ...OWN,
      method: "GET",
      path: "/my/relay-tokens",
      summary: "One's own relay tokens",
      answer: json(200, listOf("relay_tokens", RelayTokenView), { relay_tokens: [token.example] }, [
        "x-proxy-relay",
      ]),
      errors: ["reports_busy"],
      run: async ({ caller, headers }) => {
        // A header, since the specification fixes the list's keys: tokens of a relay that is off reach nothing.
        headers["x-proxy-relay"] = relay === null ? "off" : "on";
        return { relay_tokens: await token.listOwn(caller) };
      },
    }),
    route({ path: "/my/relay-tokens/:id", ...token.toChange(RelayTokenPatchRequest) }),
    route({ path: "/my/relay-tokens/:id", ...token.removal }),
  ] as const;
}

/**
 * API keys and relay tokens of any principal (specification, section 4.6; shapes from the decisions, "Admin"). Relay tokens
 * are made by their owners alone.
 */
export function secretRoutes({ keys, relayTokens, principals, keyUse }: AdminSecretDeps) {
  const key = toSecretRoutes(KEY, {
    secrets: keys,
    keyUse,
    surface: ADMIN,
    example: { ...toExample("key", ID.aliceKey, ALICE_KEY), principal: ALICE.name },
    view: AdminKeyView,
    toView: (secret, lastUsedAtUs) => toOwnedKeyView(secret, secret.principalName, lastUsedAtUs),
  });
  const token = toSecretRoutes(TOKEN, {
    secrets: relayTokens,
    keyUse,
    surface: ADMIN,
    example: { ...toExample("token", ID.aliceToken, RELAY_TOKEN), principal: ALICE.name },
    view: AdminRelayTokenView,
    toView: (secret, lastUsedAtUs) => toOwnedRelayTokenView(secret, secret.principalName, lastUsedAtUs),
  });
  return [
    route({
      ...ADMIN,
      method: "POST",
      path: "/admin/v1/keys",
      summary: "Make a key for a principal",
      body: AdminKeyCreateRequest,
      example: { principal: ALICE.name, label: key.example.label },
      answer: json(201, AdminKeyCreated, { ...key.example, key: ALICE_KEY }),
      errors: [...KEY.termErrors, "principal_not_found", "too_many_keys"],
      run: async ({ body, caller }) => {
        const owner = await principals.getByName(body.principal);
        const { view, plaintext } = await key.create(body, caller, owner);
        return { ...view, key: plaintext };
      },
    }),
    route({
      ...ADMIN,
      method: "GET",
      path: "/admin/v1/keys",
      summary: "Everybody's keys",
      query: OWNER_QUERY,
      answer: json(200, pageOf("keys", AdminKeyView), { keys: [key.example], ...PAGE }),
      errors: ["reports_busy"],
      run: async ({ query }) => {
        const { views, echo } = await key.listAll(principals, query);
        return { keys: views, ...echo };
      },
    }),
    route({ path: "/admin/v1/keys/:id", ...key.toChange(AdminKeyPatchRequest) }),
    route({
      path: "/admin/v1/keys/:id/rotate",
      ...key.toRotation(
        AdminKeyRotateRequest,
        json(200, AdminKeyCreated, { ...key.example, key: ALICE_KEY }),
      ),
      run: async ({ params, body, caller }) => {
        const { secret, plaintext } = await rotate(keys, key.filter(params.id, caller), body, caller);
        return { ...(await key.toChangedView(secret)), key: plaintext };
      },
    }),
    route({ path: "/admin/v1/keys/:id", ...key.removal }),
    route({
      ...ADMIN,
      method: "GET",
      path: "/admin/v1/relay-tokens",
      summary: "Everybody's relay tokens",
      query: OWNER_QUERY,
      answer: json(200, pageOf("relay_tokens", AdminRelayTokenView), {
        relay_tokens: [token.example],
        ...PAGE,
      }),
      errors: ["reports_busy"],
      run: async ({ query }) => {
        const { views, echo } = await token.listAll(principals, query);
        return { relay_tokens: views, ...echo };
      },
    }),
    route({ path: "/admin/v1/relay-tokens/:id", ...token.toChange(AdminRelayTokenPatchRequest) }),
    route({ path: "/admin/v1/relay-tokens/:id", ...token.removal }),
  ] as const;
}

/** The differences of the two kinds; the specification gives relay tokens no models and no rotation. */
interface Kind {
  readonly noun: "key" | "relay token";
  readonly termErrors: readonly ErrorCode[];
  readonly notFound: ErrorCode;
  /** The example of a change. */
  readonly changed: object;
  toPatch(this: void, body: TermsBody, caller: Caller): SecretPatch;
}

const KEY: Kind = {
  noun: "key",
  termErrors: ["invalid_label", "invalid_expiry", "invalid_models", "invalid_tags"],
  notFound: "key_not_found",
  changed: { expires_at: LATER, models: [MODEL.alias] },
  toPatch: (body, caller) => ({ ...toPatch(body, caller), models: body.models, scope: body.scope }),
};
const TOKEN: Kind = {
  noun: "relay token",
  termErrors: ["invalid_label", "invalid_expiry", "invalid_tags"],
  notFound: "relay_token_not_found",
  changed: { enabled: false },
  toPatch,
};

interface TermsBody {
  readonly label?: string;
  readonly expires_at?: unknown;
  readonly enabled?: boolean;
  readonly tags?: unknown;
  readonly models?: unknown;
  readonly scope?: string;
}

function toPatch({ label, expires_at, enabled, tags }: TermsBody, caller: Caller): SecretPatch {
  return { label, expiresAt: expires_at, enabled, tags, ...toMaker(caller) };
}

/** One kind on one surface: a caller's own, or those of every principal. */
interface Surfaced<View extends TSchema, Example> {
  readonly secrets: OwnedSecrets;
  readonly keyUse: KeyUse;
  readonly surface: typeof OWN | typeof ADMIN;
  readonly example: Example;
  readonly view: View;
  readonly toView: (secret: ListedSecret, lastUsedAtUs: InstantUs | null) => Static<View>;
}

/** The parts that the routes of a kind have in common on a surface. */
function toSecretRoutes<View extends TSchema, Example extends { readonly id: string }>(
  { noun, termErrors, notFound, changed, toPatch: toPatchOf }: Kind,
  { secrets, keyUse, surface, example, view, toView }: Surfaced<View, Example>,
) {
  const isOwn = surface === OWN;
  const one = isOwn ? `a ${noun} of one's own` : `a ${noun}`;
  const params = { id: example.id };
  const filter = (id: string, caller: Caller) => (isOwn ? { id, principalId: caller.principal.id } : { id });
  const toChangedView = async (secret: ListedSecret) => toView(secret, await findLastUse(keyUse, secret.id));
  const toViews = async (rows: readonly ListedSecret[]) => {
    const lastUsed = await keyUse.lastUsed(rows.map(({ id }) => id));
    return rows.map((row) => toView(row, lastUsed.get(row.id) ?? null));
  };
  return {
    example,
    filter,
    toChangedView,
    async create(body: TermsBody, caller: Caller, owner: { readonly id: string; readonly name: string }) {
      const draft = { principalId: owner.id, ...toPatchOf(body, caller) };
      const { secret, plaintext } = await secrets.create(draft, toActor(caller));
      return { view: toView({ ...secret, principalName: owner.name }, null), plaintext };
    },
    async listOwn({ principal }: Caller) {
      const { rows } = await secrets.list({ principalId: principal.id }, ALL_OWN);
      return await toViews(rows);
    },
    /** A page of the secrets of one principal or of all, and what the page says of itself. */
    async listAll(principals: Principals, query: Asked<string, "admin", undefined>["query"]) {
      const page = parsePage(query);
      const name = query["principal"] ?? "";
      const owner = name === "" ? null : await principals.findByName(name);
      // A filter without a match is an empty list, as everywhere.
      if (name !== "" && owner === null) return { views: [], echo: pageView(page, 0) };
      const { rows, total } = await secrets.list(owner === null ? {} : { principalId: owner.id }, page);
      return { views: await toViews(rows), echo: pageView(page, total) };
    },
    toChange: <Patch extends TSchema>(body: Patch) => ({
      ...surface,
      method: "PATCH" as const,
      summary: `Change ${one}`,
      description: isOwn ? OWN_CHANGE : CHANGE,
      params,
      body,
      example: changed,
      answer: json(200, view, { ...example, ...changed }),
      errors: [...termErrors, ...(isOwn ? ["admin_required" as const] : []), notFound],
      run: async ({ params: { id }, body: asked, caller }: AskedOfOne<TermsBody>) => {
        const patch = toPatchOf(asked, caller);
        return await toChangedView(await secrets.update(filter(id, caller), patch, toActor(caller)));
      },
    }),
    toRotation: <Body extends TSchema, Created extends TSchema>(
      body: Body,
      answer: JsonAnswer<200, Created>,
    ) => ({
      ...surface,
      method: "POST" as const,
      summary: `Give ${one} another secret`,
      description: ROTATED,
      params,
      body,
      example: { grace_seconds: 3600 },
      isBodyOptional: true as const,
      answer,
      errors: [...(isOwn ? ["admin_required" as const] : []), notFound],
    }),
    removal: {
      ...surface,
      method: "DELETE" as const,
      summary: `Delete ${one}`,
      params,
      query: DRY_RUN,
      answer: json(200, DeletedOrRemoval, { deleted: example.id }),
      errors: ["invalid_request" as const, notFound],
      run: async ({ params: { id }, caller, request }: AskedOfOne<unknown>) => {
        const wanted = filter(id, caller);
        if (isDryRun(request)) {
          const { secret, limits } = await secrets.findRemoval(wanted);
          // `GET /my/limits` has no limit that is switched off.
          const seen = isOwn ? limits.filter(({ enabled }) => enabled) : limits;
          const lastUsedAtUs = await findLastUse(keyUse, secret.id);
          return toSecretRemovalView(noun, { secret, limits: seen }, lastUsedAtUs);
        }
        await secrets.delete(wanted, toActor(caller));
        return { deleted: id };
      },
    },
  };
}

interface AskedOfOne<Body> {
  readonly params: { readonly id: string };
  readonly body: Body;
  readonly caller: Caller;
  readonly request: Request;
}

/** Everything that a caller owns fits one page: as many as there may be. */
const ALL_OWN = { limit: PAGE_LIMIT_MAX, offset: 0 };

const OWNER_QUERY: readonly QueryParam[] = [
  ...PAGE_QUERY,
  { name: "principal", schema: Type.String(), description: "Only those of the principal with this name." },
];

const OWN_CHANGE =
  "A field that is left out stays; null lifts `expires_at` and `models`. What an admin has set may be tightened, not loosened.";
const CHANGE =
  "A field that is left out stays; null lifts `expires_at` and `models`. The owner may tighten what is set here, not loosen it.";

const ROTATED =
  "Its id, label, terms and usage stay. The secret of before works for `grace_seconds` more; the one before that ends at once.";

async function rotate(
  keys: Keys,
  filter: Parameters<Keys["rotate"]>[0],
  { grace_seconds: graceSeconds = 0 }: { readonly grace_seconds?: number },
  caller: Caller,
) {
  return await keys.rotate(filter, { graceSeconds, ...toMaker(caller) }, toActor(caller));
}

/** The answer to a change waits so long for the ledger to tell when the secret was last used. */
const LAST_USE_MS_MAX = 500;

/**
 * When a secret was last used, for the answer to a change of it; null as well when the ledger does not tell. The change is made
 * by then, and a new secret is told in this answer alone.
 */
async function findLastUse(keyUse: KeyUse, id: string): Promise<InstantUs | null> {
  const asked = keyUse.lastUsed([id]).then(
    (found) => found.get(id) ?? null,
    () => null,
  );
  return await withinLimit(asked, LAST_USE_MS_MAX, () => null);
}

function toExample(noun: "key" | "token", id: string, secret: string) {
  const label = noun === "key" ? "laptop" : "editor";
  return { id, [`${noun}_suffix`]: secret.slice(-4), label, created_at: INSTANT, last_used_at: null };
}
