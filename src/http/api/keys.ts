import { Elysia } from "elysia";
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

/** API keys of any principal (specification, section 4.6; shapes from the decisions, "Admin"). */
export function keyRoutes(guard: Guard, { keys, keyUse, principals }: AdminKeysDeps) {
  return new Elysia({ prefix: "/admin/v1" })
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
      { access: "admin", body: AdminKeyCreateRequest },
    )
    .get(
      "/keys",
      async ({ query }) => {
        const page = parsePage(query);
        const name = query["principal"] ?? "";
        const owner = name === "" ? null : await principals.findByName(name);
        // A filter that matches nobody is an empty list, as everywhere.
        if (name !== "" && owner === null) return { keys: [], ...pageView(page, 0) };
        const filter = owner === null ? {} : { principalId: owner.id };
        const { rows, total } = await keys.list(filter, page);
        const lastUsed = await keyUse.lastUsed(rows.map((key) => key.id));
        const views = rows.map((key) => toOwnedKeyView(key, key.principalName, lastUsed.get(key.id) ?? null));
        return { keys: views, ...pageView(page, total) };
      },
      { access: "admin" },
    )
    .delete(
      "/keys/:id",
      async ({ params, caller }) => {
        await keys.delete({ id: params.id }, toActor(caller));
        return { deleted: params.id };
      },
      { access: "admin" },
    );
}
