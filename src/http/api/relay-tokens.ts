import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { ALICE, ID, INSTANT, PAGE, RELAY_TOKEN } from "#http/schemas/examples.ts";
import { AdminRelayTokenView } from "#http/schemas/identity.ts";
import { Deleted, pageOf } from "#http/schemas/shared.ts";
import { OWNER_QUERY } from "./owner-query.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { pageView } from "#http/door/paging.ts";
import { toOwnedRelayTokenView } from "#views/identity.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { Principals } from "#identity/principals.ts";
import type { RelayTokens } from "#identity/relay-tokens.ts";
import { parsePage } from "#kernel/page.ts";

export interface AdminRelayTokensDeps {
  readonly relayTokens: RelayTokens;
  readonly keyUse: KeyUse;
  readonly principals: Principals;
}

const TOKEN = {
  id: ID.aliceToken,
  token_suffix: RELAY_TOKEN.slice(-4),
  label: "editor",
  created_at: INSTANT,
  last_used_at: null,
  principal: ALICE.name,
};

/** Relay tokens of any principal (decisions, "Admin"): looked through and deleted here, made by their owners. */
export function relayTokenRoutes(guard: Guard, { relayTokens, keyUse, principals }: AdminRelayTokensDeps) {
  return new Elysia({ prefix: "/admin/v1", tags: ["People"] })
    .use(guard)
    .get(
      "/relay-tokens",
      async ({ query }) => {
        const page = parsePage(query);
        const name = query["principal"] ?? "";
        const owner = name === "" ? null : await principals.findByName(name);
        // A filter without a match is an empty list, as everywhere.
        if (name !== "" && owner === null) return { relay_tokens: [], ...pageView(page, 0) };
        const { rows, total } = await relayTokens.list(owner === null ? {} : { principalId: owner.id }, page);
        const lastUsed = await keyUse.lastUsed(rows.map((token) => token.id));
        const views = rows.map((token) =>
          toOwnedRelayTokenView(token, token.principalName, lastUsed.get(token.id) ?? null),
        );
        return { relay_tokens: views, ...pageView(page, total) };
      },
      route({
        access: "admin",
        summary: "Everybody's relay tokens",
        query: OWNER_QUERY,
        answer: json(200, pageOf("relay_tokens", AdminRelayTokenView), { relay_tokens: [TOKEN], ...PAGE }),
      }),
    )
    .delete(
      "/relay-tokens/:id",
      async ({ params, caller }) => {
        await relayTokens.delete({ id: params.id }, toActor(caller));
        return { deleted: params.id };
      },
      route({
        access: "admin",
        summary: "Delete a relay token",
        params: { id: TOKEN.id },
        answer: json(200, Deleted, { deleted: TOKEN.id }),
        errors: ["relay_token_not_found"],
      }),
    );
}
