import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { ID, INSTANT, RELAY_TOKEN } from "#http/schemas/examples.ts";
import { RelayTokenCreated, RelayTokenView } from "#http/schemas/identity.ts";
import { Deleted, listOf } from "#http/schemas/shared.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { RelayTokens } from "#identity/relay-tokens.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { Guard } from "#http/door/guard.ts";
import { RelayTokenCreateRequest } from "#http/schemas/requests.ts";
import { toRelayTokenView } from "#views/identity.ts";

export interface MyRelayTokensDeps {
  readonly relayTokens: RelayTokens;
  readonly keyUse: KeyUse;
  /** Null: there is no messages API to relay to. */
  readonly relay: object | null;
}

const TOKEN = {
  id: ID.ownToken,
  token_suffix: RELAY_TOKEN.slice(-4),
  label: "editor",
  created_at: INSTANT,
  last_used_at: null,
};

/** A caller's own relay tokens (specification, section 4.3); not audited. */
export function myRelayTokenRoutes(guard: Guard, { relayTokens, keyUse, relay }: MyRelayTokensDeps) {
  return new Elysia({ prefix: "/my", tags: ["Self-service"] })
    .use(guard)
    .post(
      "/relay-tokens",
      async ({ body, caller, status }) => {
        const { token, plaintext } = await relayTokens.create(
          { principalId: caller.principal.id, label: body.label },
          null,
        );
        return status(201, { ...toRelayTokenView(token, null), token: plaintext });
      },
      route({
        access: "caller",
        summary: "Make a relay token of one's own",
        body: RelayTokenCreateRequest,
        example: { label: TOKEN.label },
        isBodyOptional: true,
        answer: json(201, RelayTokenCreated, { ...TOKEN, token: RELAY_TOKEN }),
        errors: ["invalid_label"],
      }),
    )
    .get(
      "/relay-tokens",
      async ({ caller, set }) => {
        // A header, since the specification fixes the list's keys: tokens of a relay that is off reach nothing.
        set.headers["x-proxy-relay"] = relay === null ? "off" : "on";
        const { rows } = await relayTokens.list(
          { principalId: caller.principal.id },
          { limit: PAGE_LIMIT_MAX, offset: 0 },
        );
        const lastUsed = await keyUse.lastUsed(rows.map((token) => token.id));
        const views = rows.map((token) => toRelayTokenView(token, lastUsed.get(token.id) ?? null));
        return { relay_tokens: views };
      },
      route({
        access: "caller",
        summary: "One's own relay tokens",
        answer: json(200, listOf("relay_tokens", RelayTokenView), { relay_tokens: [TOKEN] }, [
          "x-proxy-relay",
        ]),
      }),
    )
    .delete(
      "/relay-tokens/:id",
      async ({ params, caller }) => {
        await relayTokens.delete({ id: params.id, principalId: caller.principal.id }, null);
        return { deleted: params.id };
      },
      route({
        access: "caller",
        summary: "Delete a relay token of one's own",
        params: { id: TOKEN.id },
        answer: json(200, Deleted, { deleted: TOKEN.id }),
        errors: ["relay_token_not_found"],
      }),
    );
}
