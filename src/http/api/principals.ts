import { json, route } from "#http/door/route.ts";
import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import { ALICE, INSTANT, PAGE } from "#http/schemas/examples.ts";
import {
  PrincipalChanged,
  PrincipalListEntry,
  PrincipalView,
  SessionsRevoked,
} from "#http/schemas/identity.ts";
import { DeletedOrRemoval, pageOf } from "#http/schemas/shared.ts";
import { toActor } from "#http/door/guard.ts";
import { PAGE_QUERY, pageView } from "#http/door/paging.ts";
import { NoAdminRequest, PrincipalCreateRequest, PrincipalPatchRequest } from "#http/schemas/requests.ts";
import { toChangedPrincipalView, toListedPrincipalView, toPrincipalView } from "#views/identity.ts";
import { IF_MATCH, toPrecondition, withTag } from "#http/door/if-match.ts";
import type { Principals } from "#identity/principals.ts";
import { toPrincipalRemovalView } from "#views/removals.ts";
import { parsePage } from "#kernel/page.ts";

const ADMIN = { tag: "People", access: "admin" } as const;

/** Principals (specification, sections 2.8 and 4.6; PATCH and DELETE from the decisions, "Admin"). */
export function principalRoutes(principals: Principals) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/principals",
      ...ADMIN,
      summary: "Make a principal",
      body: PrincipalCreateRequest,
      example: { name: ALICE.name },
      answer: json(201, PrincipalView, ALICE),
      errors: ["invalid_name", "invalid_tags", "principal_exists"],
      run: async ({ body, caller }) => toPrincipalView(await principals.create(body, toActor(caller))),
    }),
    route({
      method: "GET",
      path: "/admin/v1/principals",
      ...ADMIN,
      summary: "The principals",
      query: PAGE_QUERY,
      answer: json(200, pageOf("principals", PrincipalListEntry), {
        principals: [{ ...ALICE, created_at: INSTANT }],
        ...PAGE,
      }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const { rows, total } = await principals.list(page);
        return { principals: rows.map(toListedPrincipalView), ...pageView(page, total) };
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/principals/:id",
      ...ADMIN,
      summary: "Change a principal's role or fixed tags, or disable it",
      params: { id: ALICE.id },
      body: PrincipalPatchRequest,
      example: { enabled: false },
      description: IF_MATCH,
      answer: json(200, PrincipalChanged, { ...ALICE, created_at: INSTANT, enabled: false }, ["etag"]),
      errors: ["invalid_tags", "principal_not_found", "last_admin", "changed_meanwhile"],
      run: async ({ params, body, caller, request, headers }) => {
        const require = toPrecondition(request, "principal", toChangedPrincipalView);
        const principal = await principals.update(params.id, body, toActor(caller), require);
        return withTag(headers, "principal", toChangedPrincipalView(principal));
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/principals/:id",
      ...ADMIN,
      summary: "Delete a principal, its keys, tokens and sessions",
      params: { id: ALICE.id },
      description: IF_MATCH,
      query: DRY_RUN,
      answer: json(200, DeletedOrRemoval, { deleted: ALICE.id }),
      errors: ["invalid_request", "principal_not_found", "last_admin", "changed_meanwhile"],
      run: async ({ params, caller, request }) => {
        const require = toPrecondition(request, "principal", toChangedPrincipalView);
        if (isDryRun(request))
          return toPrincipalRemovalView(await principals.findRemoval(params.id, require));
        await principals.delete(params.id, toActor(caller), require);
        return { deleted: params.id };
      },
    }),
    route({
      method: "POST",
      path: "/admin/v1/principals/:id/revoke-sessions",
      ...ADMIN,
      summary: "End every session of a principal",
      description: "Its keys stay. The body may be left out.",
      params: { id: ALICE.id },
      body: NoAdminRequest,
      example: {},
      isBodyOptional: true,
      answer: json(200, SessionsRevoked, { revoked: 2 }),
      errors: ["principal_not_found"],
      run: async ({ params, caller }) => ({
        revoked: await principals.revokeSessions(params.id, toActor(caller)),
      }),
    }),
  ] as const;
}
