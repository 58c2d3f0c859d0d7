import { Elysia } from "elysia";
import type { KeyUse } from "#identity/key-use.ts";
import type { Keys } from "#identity/keys.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { Guard } from "#http/door/guard.ts";
import { KeyCreateRequest } from "#http/schemas/requests.ts";
import { toKeyView } from "#views/identity.ts";

export interface MyKeysDeps {
  readonly keys: Keys;
  readonly keyUse: KeyUse;
}

/** A caller's own API keys (specification, section 4.3); not audited. */
export function myKeyRoutes(guard: Guard, { keys, keyUse }: MyKeysDeps) {
  return new Elysia({ prefix: "/my" })
    .use(guard)
    .post(
      "/keys",
      async ({ body, caller, status }) => {
        const { key, plaintext } = await keys.create(
          { principalId: caller.principal.id, label: body.label },
          null,
        );
        return status(201, { ...toKeyView(key, null), key: plaintext });
      },
      { access: "caller", body: KeyCreateRequest },
    )
    .get(
      "/keys",
      async ({ caller }) => {
        const { rows } = await keys.list(
          { principalId: caller.principal.id },
          { limit: PAGE_LIMIT_MAX, offset: 0 },
        );
        const lastUsed = await keyUse.lastUsed(rows.map((key) => key.id));
        return { keys: rows.map((key) => toKeyView(key, lastUsed.get(key.id) ?? null)) };
      },
      { access: "caller" },
    )
    .delete(
      "/keys/:id",
      async ({ params, caller }) => {
        await keys.delete({ id: params.id, principalId: caller.principal.id }, null);
        return { deleted: params.id };
      },
      { access: "caller" },
    );
}
