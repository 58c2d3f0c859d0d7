import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { ID, INSTANT, OWN_KEY } from "#http/schemas/examples.ts";
import { KeyCreated, KeyView } from "#http/schemas/identity.ts";
import { Deleted, listOf } from "#http/schemas/shared.ts";
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

const KEY = {
  id: ID.ownKey,
  key_suffix: OWN_KEY.slice(-4),
  label: "laptop",
  created_at: INSTANT,
  last_used_at: null,
};

/** A caller's own API keys (specification, section 4.3); not audited. */
export function myKeyRoutes(guard: Guard, { keys, keyUse }: MyKeysDeps) {
  return new Elysia({ prefix: "/my", tags: ["Self-service"] })
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
      route({
        access: "caller",
        summary: "Make a key of one's own",
        body: KeyCreateRequest,
        example: { label: KEY.label },
        isBodyOptional: true,
        answer: json(201, KeyCreated, { ...KEY, key: OWN_KEY }),
        errors: ["invalid_label"],
      }),
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
      route({
        access: "caller",
        summary: "One's own keys",
        answer: json(200, listOf("keys", KeyView), { keys: [KEY] }),
      }),
    )
    .delete(
      "/keys/:id",
      async ({ params, caller }) => {
        await keys.delete({ id: params.id, principalId: caller.principal.id }, null);
        return { deleted: params.id };
      },
      route({
        access: "caller",
        summary: "Delete a key of one's own",
        params: { id: KEY.id },
        answer: json(200, Deleted, { deleted: KEY.id }),
        errors: ["key_not_found"],
      }),
    );
}
