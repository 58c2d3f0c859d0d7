import { Elysia } from "elysia";
import { toActor, type Guard } from "#http/door/guard.ts";
import { pageView } from "#http/door/paging.ts";
import { NoRequest, PrincipalCreateRequest, PrincipalPatchRequest } from "#http/schemas/requests.ts";
import { toChangedPrincipalView, toListedPrincipalView, toPrincipalView } from "#views/identity.ts";
import type { Principals } from "#identity/principals.ts";
import { parsePage } from "#kernel/page.ts";

/** Principals (specification, sections 2.8 and 4.6; PATCH and DELETE from the decisions, "Admin"). */
export function principalRoutes(guard: Guard, principals: Principals) {
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .post(
      "/principals",
      async ({ body, caller, status }) =>
        status(201, toPrincipalView(await principals.create(body, toActor(caller)))),
      { access: "admin", body: PrincipalCreateRequest },
    )
    .get(
      "/principals",
      async ({ query }) => {
        const page = parsePage(query);
        const { rows, total } = await principals.list(page);
        return { principals: rows.map(toListedPrincipalView), ...pageView(page, total) };
      },
      { access: "admin" },
    )
    .patch(
      "/principals/:id",
      async ({ params, body, caller }) =>
        toChangedPrincipalView(await principals.update(params.id, body, toActor(caller))),
      { access: "admin", body: PrincipalPatchRequest },
    )
    .delete(
      "/principals/:id",
      async ({ params, caller }) => {
        await principals.delete(params.id, toActor(caller));
        return { deleted: params.id };
      },
      { access: "admin" },
    )
    .post(
      "/principals/:id/revoke-sessions",
      async ({ params, caller }) => ({
        revoked: await principals.revokeSessions(params.id, toActor(caller)),
      }),
      { access: "admin", body: NoRequest },
    );
}
