import { toActor } from "#http/door/guard.ts";
import { json, route } from "#http/door/route.ts";
import { ALICE, ALICE_KEY, ID, LATER, MODEL, PAGE, RELAY_TOKEN } from "#http/schemas/examples.ts";
import { AdminKeyCreated, AdminKeyView, AdminRelayTokenView } from "#http/schemas/identity.ts";
import {
  AdminKeyCreateRequest,
  AdminKeyPatchRequest,
  AdminKeyRotateRequest,
  AdminRelayTokenPatchRequest,
} from "#http/schemas/secret-requests.ts";
import { Deleted, pageOf } from "#http/schemas/shared.ts";
import type { Principals } from "#identity/principals.ts";
import { toOwnedKeyView, toOwnedRelayTokenView } from "#views/identity.ts";
import {
  findLastUse,
  KEY_TERM_ERRORS,
  listOfAll,
  OWNER_QUERY,
  ROTATED,
  TOKEN_TERM_ERRORS,
  toSecretExample,
  toKeyPatch,
  toMaker,
  toRelayTokenPatch,
  type SecretDeps,
} from "./secret-list.ts";

export interface AdminSecretDeps extends SecretDeps {
  readonly principals: Principals;
}

const KEY = { ...toSecretExample("key", ID.aliceKey, ALICE_KEY), principal: ALICE.name };
const TOKEN = { ...toSecretExample("token", ID.aliceToken, RELAY_TOKEN), principal: ALICE.name };
const CHANGE =
  "A field that is left out stays; null lifts `expires_at` and `models`. The owner may tighten what is set here, not loosen it.";

/**
 * API keys and relay tokens of any principal (specification, section 4.6; shapes from the decisions, "Admin"). Relay tokens
 * are made by their owners alone.
 */
export function secretRoutes(deps: AdminSecretDeps) {
  const { keys, relayTokens, principals, keyUse } = deps;
  return [
    route({
      method: "POST",
      path: "/admin/v1/keys",
      tag: "People",
      access: "admin",
      summary: "Make a key for a principal",
      body: AdminKeyCreateRequest,
      example: { principal: ALICE.name, label: KEY.label },
      answer: json(201, AdminKeyCreated, { ...KEY, key: ALICE_KEY }),
      errors: [...KEY_TERM_ERRORS, "principal_not_found", "too_many_keys"],
      run: async ({ body, caller }) => {
        const owner = await principals.getByName(body.principal);
        const { secret, plaintext } = await keys.create(
          { principalId: owner.id, ...toKeyPatch(body, caller) },
          toActor(caller),
        );
        return { ...toOwnedKeyView(secret, owner.name, null), key: plaintext };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/keys",
      tag: "People",
      access: "admin",
      summary: "Everybody's keys",
      query: OWNER_QUERY,
      answer: json(200, pageOf("keys", AdminKeyView), { keys: [KEY], ...PAGE }),
      errors: ["reports_busy"],
      run: async ({ query }) => {
        const { views, echo } = await listOfAll(keys, deps, query, toOwnedKeyView);
        return { keys: views, ...echo };
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/keys/:id",
      tag: "People",
      access: "admin",
      summary: "Change a key",
      description: CHANGE,
      params: { id: KEY.id },
      body: AdminKeyPatchRequest,
      example: { expires_at: LATER, models: [MODEL.alias] },
      answer: json(200, AdminKeyView, { ...KEY, expires_at: LATER, models: [MODEL.alias] }),
      errors: [...KEY_TERM_ERRORS, "key_not_found"],
      run: async ({ params, body, caller }) => {
        const key = await keys.update({ id: params.id }, toKeyPatch(body, caller), toActor(caller));
        return toOwnedKeyView(key, key.principalName, await findLastUse(keyUse, key.id));
      },
    }),
    route({
      method: "POST",
      path: "/admin/v1/keys/:id/rotate",
      tag: "People",
      access: "admin",
      summary: "Give a key another secret",
      description: ROTATED,
      params: { id: KEY.id },
      body: AdminKeyRotateRequest,
      example: { grace_seconds: 3600 },
      isBodyOptional: true,
      answer: json(200, AdminKeyCreated, { ...KEY, key: ALICE_KEY }),
      errors: ["key_not_found"],
      run: async ({ params, body, caller }) => {
        const key = { id: params.id };
        const rotation = { graceSeconds: body.grace_seconds ?? 0, ...toMaker(caller) };
        const { secret, plaintext } = await keys.rotate(key, rotation, toActor(caller));
        const lastUsedAtUs = await findLastUse(keyUse, secret.id);
        return { ...toOwnedKeyView(secret, secret.principalName, lastUsedAtUs), key: plaintext };
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/keys/:id",
      tag: "People",
      access: "admin",
      summary: "Delete a key",
      params: { id: KEY.id },
      answer: json(200, Deleted, { deleted: KEY.id }),
      errors: ["key_not_found"],
      run: async ({ params, caller }) => {
        await keys.delete({ id: params.id }, toActor(caller));
        return { deleted: params.id };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/relay-tokens",
      tag: "People",
      access: "admin",
      summary: "Everybody's relay tokens",
      query: OWNER_QUERY,
      answer: json(200, pageOf("relay_tokens", AdminRelayTokenView), { relay_tokens: [TOKEN], ...PAGE }),
      errors: ["reports_busy"],
      run: async ({ query }) => {
        const { views, echo } = await listOfAll(relayTokens, deps, query, toOwnedRelayTokenView);
        return { relay_tokens: views, ...echo };
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/relay-tokens/:id",
      tag: "People",
      access: "admin",
      summary: "Change a relay token",
      description: CHANGE,
      params: { id: TOKEN.id },
      body: AdminRelayTokenPatchRequest,
      example: { enabled: false },
      answer: json(200, AdminRelayTokenView, { ...TOKEN, enabled: false }),
      errors: [...TOKEN_TERM_ERRORS, "relay_token_not_found"],
      run: async ({ params, body, caller }) => {
        const patch = toRelayTokenPatch(body, caller);
        const token = await relayTokens.update({ id: params.id }, patch, toActor(caller));
        return toOwnedRelayTokenView(token, token.principalName, await findLastUse(keyUse, token.id));
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/relay-tokens/:id",
      tag: "People",
      access: "admin",
      summary: "Delete a relay token",
      params: { id: TOKEN.id },
      answer: json(200, Deleted, { deleted: TOKEN.id }),
      errors: ["relay_token_not_found"],
      run: async ({ params, caller }) => {
        await relayTokens.delete({ id: params.id }, toActor(caller));
        return { deleted: params.id };
      },
    }),
  ] as const;
}
