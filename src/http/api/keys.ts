import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { ALICE, ALICE_KEY, ID, INSTANT, PAGE } from "#http/schemas/examples.ts";
import { AdminKeyCreated, AdminKeyView } from "#http/schemas/identity.ts";
import { Deleted, pageOf } from "#http/schemas/shared.ts";
import { OWNER_QUERY } from "./owner-query.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { pageView } from "#http/door/paging.ts";
import { AdminKeyCreateRequest } from "#http/schemas/requests.ts";
import { toOwnedKeyView } from "#views/identity.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { Keys } from "#identity/keys.ts";
import type { Principals } from "#identity/principals.ts";
import { parsePage } from "#kernel/page.ts";

export interface AdminKeysDeps {
  readonly keys: Keys;
  readonly keyUse: KeyUse;
  readonly principals: Principals;
}

const KEY = {
  id: ID.aliceKey,
  key_suffix: ALICE_KEY.slice(-4),
  label: "laptop",
  created_at: INSTANT,
  last_used_at: null,
  principal: ALICE.name,
};

/** API keys of any principal (specification, section 4.6; shapes from the decisions, "Admin"). */
export function keyRoutes(guard: Guard, { keys, keyUse, principals }: AdminKeysDeps) {
  return new Elysia({ prefix: "/admin/v1", tags: ["People"] })
    .use(guard)
    .post(
      "/keys",
      async ({ body, caller, status }) => {
        const owner = await principals.getByName(body.principal);
        const { key, plaintext } = await keys.create(
          { principalId: owner.id, label: body.label },
          toActor(caller),
        );
        return status(201, { ...toOwnedKeyView(key, owner.name, null), key: plaintext });
      },
      route({
        access: "admin",
        summary: "Make a key for a principal",
        body: AdminKeyCreateRequest,
        example: { principal: ALICE.name, label: KEY.label },
        answer: json(201, AdminKeyCreated, { ...KEY, key: ALICE_KEY }),
        errors: ["invalid_label", "principal_not_found"],
      }),
    )
    .get(
      "/keys",
      async ({ query }) => {
        const page = parsePage(query);
        const name = query["principal"] ?? "";
        const owner = name === "" ? null : await principals.findByName(name);
        // A filter without a match is an empty list, as everywhere.
        if (name !== "" && owner === null) return { keys: [], ...pageView(page, 0) };
        const filter = owner === null ? {} : { principalId: owner.id };
        const { rows, total } = await keys.list(filter, page);
        const lastUsed = await keyUse.lastUsed(rows.map((key) => key.id));
        const views = rows.map((key) => toOwnedKeyView(key, key.principalName, lastUsed.get(key.id) ?? null));
        return { keys: views, ...pageView(page, total) };
      },
      route({
        access: "admin",
        summary: "Everybody's keys",
        query: OWNER_QUERY,
        answer: json(200, pageOf("keys", AdminKeyView), { keys: [KEY], ...PAGE }),
      }),
    )
    .delete(
      "/keys/:id",
      async ({ params, caller }) => {
        await keys.delete({ id: params.id }, toActor(caller));
        return { deleted: params.id };
      },
      route({
        access: "admin",
        summary: "Delete a key",
        params: { id: KEY.id },
        answer: json(200, Deleted, { deleted: KEY.id }),
        errors: ["key_not_found"],
      }),
    );
}
