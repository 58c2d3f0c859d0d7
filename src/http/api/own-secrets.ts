import { toActor } from "#http/door/guard.ts";
import { json, route } from "#http/door/route.ts";
import { ID, LATER, MODEL, OWN_KEY, RELAY_TOKEN } from "#http/schemas/examples.ts";
import { KeyCreated, KeyView, RelayTokenCreated, RelayTokenView } from "#http/schemas/identity.ts";
import {
  KeyCreateRequest,
  KeyPatchRequest,
  KeyRotateRequest,
  RelayTokenCreateRequest,
  RelayTokenPatchRequest,
} from "#http/schemas/secret-requests.ts";
import { Deleted, listOf } from "#http/schemas/shared.ts";
import { toKeyView, toRelayTokenView } from "#views/identity.ts";
import {
  findLastUse,
  KEY_TERM_ERRORS,
  listOwn,
  ROTATED,
  TOKEN_TERM_ERRORS,
  toSecretExample,
  toKeyPatch,
  toMaker,
  toRelayTokenPatch,
  type SecretDeps,
} from "./secret-list.ts";

export interface OwnSecretDeps extends SecretDeps {
  /** Null: there is no messages API to relay to. */
  readonly relay: object | null;
}

const KEY = toSecretExample("key", ID.ownKey, OWN_KEY);
const TOKEN = toSecretExample("token", ID.ownToken, RELAY_TOKEN);
const OWN_CHANGE =
  "A field that is left out stays; null lifts `expires_at` and `models`. What an admin has set may be tightened, not loosened.";

/** A caller's own API keys and relay tokens (specification, section 4.3). */
export function ownSecretRoutes({ keys, relayTokens, keyUse, relay }: OwnSecretDeps) {
  return [
    route({
      method: "POST",
      path: "/my/keys",
      tag: "Self-service",
      access: "caller",
      summary: "Make a key of one's own",
      body: KeyCreateRequest,
      example: { label: KEY.label },
      isBodyOptional: true,
      answer: json(201, KeyCreated, { ...KEY, key: OWN_KEY }),
      errors: [...KEY_TERM_ERRORS, "admin_required", "too_many_keys"],
      run: async ({ body, caller }) => {
        const { secret, plaintext } = await keys.create(
          { principalId: caller.principal.id, ...toKeyPatch(body, caller) },
          toActor(caller),
        );
        return { ...toKeyView(secret, null), key: plaintext };
      },
    }),
    route({
      method: "GET",
      path: "/my/keys",
      tag: "Self-service",
      access: "caller",
      summary: "One's own keys",
      answer: json(200, listOf("keys", KeyView), { keys: [KEY] }),
      errors: ["reports_busy"],
      run: async ({ caller }) => {
        const own = { principalId: caller.principal.id, toView: toKeyView };
        return { keys: await listOwn(keys, keyUse, own) };
      },
    }),
    route({
      method: "PATCH",
      path: "/my/keys/:id",
      tag: "Self-service",
      access: "caller",
      summary: "Change a key of one's own",
      description: OWN_CHANGE,
      params: { id: KEY.id },
      body: KeyPatchRequest,
      example: { expires_at: LATER, models: [MODEL.alias] },
      answer: json(200, KeyView, { ...KEY, expires_at: LATER, models: [MODEL.alias] }),
      errors: [...KEY_TERM_ERRORS, "admin_required", "key_not_found"],
      run: async ({ params, body, caller }) => {
        const own = { id: params.id, principalId: caller.principal.id };
        const key = await keys.update(own, toKeyPatch(body, caller), toActor(caller));
        return toKeyView(key, await findLastUse(keyUse, key.id));
      },
    }),
    route({
      method: "POST",
      path: "/my/keys/:id/rotate",
      tag: "Self-service",
      access: "caller",
      summary: "Give a key of one's own another secret",
      description: ROTATED,
      params: { id: KEY.id },
      body: KeyRotateRequest,
      example: { grace_seconds: 3600 },
      isBodyOptional: true,
      answer: json(200, KeyCreated, { ...KEY, key: OWN_KEY }),
      errors: ["admin_required", "key_not_found"],
      run: async ({ params, body, caller }) => {
        const own = { id: params.id, principalId: caller.principal.id };
        const rotation = { graceSeconds: body.grace_seconds ?? 0, ...toMaker(caller) };
        const { secret, plaintext } = await keys.rotate(own, rotation, toActor(caller));
        return { ...toKeyView(secret, await findLastUse(keyUse, secret.id)), key: plaintext };
      },
    }),
    route({
      method: "DELETE",
      path: "/my/keys/:id",
      tag: "Self-service",
      access: "caller",
      summary: "Delete a key of one's own",
      params: { id: KEY.id },
      answer: json(200, Deleted, { deleted: KEY.id }),
      errors: ["key_not_found"],
      run: async ({ params, caller }) => {
        await keys.delete({ id: params.id, principalId: caller.principal.id }, toActor(caller));
        return { deleted: params.id };
      },
    }),
    route({
      method: "POST",
      path: "/my/relay-tokens",
      tag: "Self-service",
      access: "caller",
      summary: "Make a relay token of one's own",
      body: RelayTokenCreateRequest,
      example: { label: TOKEN.label },
      isBodyOptional: true,
      answer: json(201, RelayTokenCreated, { ...TOKEN, token: RELAY_TOKEN }),
      errors: [...TOKEN_TERM_ERRORS, "admin_required", "too_many_relay_tokens"],
      run: async ({ body, caller }) => {
        const { secret, plaintext } = await relayTokens.create(
          { principalId: caller.principal.id, ...toRelayTokenPatch(body, caller) },
          toActor(caller),
        );
        return { ...toRelayTokenView(secret, null), token: plaintext };
      },
    }),
    route({
      method: "GET",
      path: "/my/relay-tokens",
      tag: "Self-service",
      access: "caller",
      summary: "One's own relay tokens",
      answer: json(200, listOf("relay_tokens", RelayTokenView), { relay_tokens: [TOKEN] }, ["x-proxy-relay"]),
      errors: ["reports_busy"],
      run: async ({ caller, headers }) => {
        // A header, since the specification fixes the list's keys: tokens of a relay that is off reach nothing.
        headers["x-proxy-relay"] = relay === null ? "off" : "on";
        const own = { principalId: caller.principal.id, toView: toRelayTokenView };
        return { relay_tokens: await listOwn(relayTokens, keyUse, own) };
      },
    }),
    route({
      method: "PATCH",
      path: "/my/relay-tokens/:id",
      tag: "Self-service",
      access: "caller",
      summary: "Change a relay token of one's own",
      description: OWN_CHANGE,
      params: { id: TOKEN.id },
      body: RelayTokenPatchRequest,
      example: { enabled: false },
      answer: json(200, RelayTokenView, { ...TOKEN, enabled: false }),
      errors: [...TOKEN_TERM_ERRORS, "admin_required", "relay_token_not_found"],
      run: async ({ params, body, caller }) => {
        const own = { id: params.id, principalId: caller.principal.id };
        const patch = toRelayTokenPatch(body, caller);
        const token = await relayTokens.update(own, patch, toActor(caller));
        return toRelayTokenView(token, await findLastUse(keyUse, token.id));
      },
    }),
    route({
      method: "DELETE",
      path: "/my/relay-tokens/:id",
      tag: "Self-service",
      access: "caller",
      summary: "Delete a relay token of one's own",
      params: { id: TOKEN.id },
      answer: json(200, Deleted, { deleted: TOKEN.id }),
      errors: ["relay_token_not_found"],
      run: async ({ params, caller }) => {
        await relayTokens.delete({ id: params.id, principalId: caller.principal.id }, toActor(caller));
        return { deleted: params.id };
      },
    }),
  ] as const;
}
