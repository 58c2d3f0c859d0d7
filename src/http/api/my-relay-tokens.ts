import { Elysia } from "elysia";
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

/** A caller's own relay tokens (specification, section 4.3); not audited. */
export function myRelayTokenRoutes(guard: Guard, { relayTokens, keyUse, relay }: MyRelayTokensDeps) {
  return new Elysia({ prefix: "/my" })
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
      { access: "caller", body: RelayTokenCreateRequest },
    )
    .get(
      "/relay-tokens",
      async ({ caller, set }) => {
        // Beside the list, whose keys are the specification's: tokens of a relay that is off reach nothing.
        set.headers["x-proxy-relay"] = relay === null ? "off" : "on";
        const { rows } = await relayTokens.list(
          { principalId: caller.principal.id },
          { limit: PAGE_LIMIT_MAX, offset: 0 },
        );
        const lastUsed = await keyUse.lastUsed(rows.map((token) => token.id));
        const views = rows.map((token) => toRelayTokenView(token, lastUsed.get(token.id) ?? null));
        return { relay_tokens: views };
      },
      { access: "caller" },
    )
    .delete(
      "/relay-tokens/:id",
      async ({ params, caller }) => {
        await relayTokens.delete({ id: params.id, principalId: caller.principal.id }, null);
        return { deleted: params.id };
      },
      { access: "caller" },
    );
}
