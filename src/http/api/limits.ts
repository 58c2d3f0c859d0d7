import { toActor } from "#http/door/guard.ts";
import { IF_MATCH, toPrecondition, withTag } from "#http/door/if-match.ts";
import { PAGE_QUERY, pageView } from "#http/door/paging.ts";
import { json, type QueryParam, route } from "#http/door/route.ts";
import { ALICE, ID, INSTANT, PAGE } from "#http/schemas/examples.ts";
import {
  LimitCreateRequest,
  LimitPatchRequest,
  LimitUse,
  LimitView,
  OwnLimitView,
} from "#http/schemas/limits.ts";
import { DeletedOrRemoval, listOf, pageOf } from "#http/schemas/shared.ts";
import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import { Type } from "@sinclair/typebox";
import type { OwnedSecrets } from "#identity/keys.ts";
import { PAGE_LIMIT_MAX, parsePage } from "#kernel/page.ts";
import type { LimitAdmin } from "#limits/limit-admin.ts";
import { toLimitUseView, toLimitView, toOwnLimitView, toStoredLimitView } from "#views/limits.ts";
import { toLimitRemovalView } from "#views/removals.ts";

export interface LimitRoutesDeps {
  readonly limits: LimitAdmin;
  readonly keys: Pick<OwnedSecrets, "list">;
  readonly relayTokens: Pick<OwnedSecrets, "list">;
}

const DRAFT = {
  name: "alice: month",
  subject: { principal: ALICE.name },
  measure: "cost",
  amount: 50,
  window: "month",
};
const OWN = {
  id: ID.limit,
  ...DRAFT,
  action: "refuse",
  unpriced: "allow",
  enabled: true,
  sentence: `At most $50.00 a month for ${ALICE.name}: requests beyond it are refused.`,
  used: 12.5,
  left: 37.5,
  unpriced_requests: 0,
  unknown_requests: 0,
  window_start: "2026-03-01T00:00:00.000000Z",
  resets_at: "2026-04-01T00:00:00.000000Z",
};
const LIMIT = { ...OWN, refused: 3, last_refused_at: INSTANT };
const USE = { used: 12.5, left: 37.5, unpriced_requests: 0, unknown_requests: 0 };

const SUBJECT_QUERY: QueryParam = {
  name: "subject",
  schema: Type.String(),
  description: "`principal:NAME`, `key:ID`, `relay_token:ID`, `tag:KEY:VALUE` or `everybody`.",
  example: `principal:${ALICE.name}`,
};

/** Everything that a caller owns fits one page: as many as there may be. */
const ALL_OWN = { limit: PAGE_LIMIT_MAX, offset: 0 };

const ADMIN = { tag: "Limits", access: "admin" } as const;

/** Limits on use (`docs/spec/limits.md`). */
export function limitRoutes({ limits, keys, relayTokens }: LimitRoutesDeps) {
  return [
    route({
      method: "GET",
      path: "/my/limits",
      tag: "Limits",
      access: "caller",
      scope: "inference",
      summary: "The limits that hold for the caller, and what is left",
      answer: json(200, listOf("limits", OwnLimitView), { limits: [OWN] }),
      run: async ({ caller }) => {
        const principalId = caller.principal.id;
        const [ownKeys, ownTokens] = await Promise.all([
          keys.list({ principalId }, ALL_OWN),
          relayTokens.list({ principalId }, ALL_OWN),
        ]);
        const own = await limits.listOwn({
          principalId,
          keyIds: ownKeys.rows.map(({ id }) => id),
          relayTokenIds: ownTokens.rows.map(({ id }) => id),
          fixedTags: [
            ...new Set([
              ...caller.principal.tags,
              ...[...ownKeys.rows, ...ownTokens.rows].flatMap(({ tags }) => tags),
            ]),
          ],
        });
        return { limits: own.map(toOwnLimitView) };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/limits",
      ...ADMIN,
      summary: "The limits by name, and what was used of them",
      query: [SUBJECT_QUERY, ...PAGE_QUERY],
      answer: json(200, pageOf("limits", LimitView), { limits: [LIMIT], ...PAGE }),
      errors: ["invalid_request"],
      run: async ({ query }) => {
        const page = parsePage(query);
        const { rows, total } = await limits.list(query["subject"] || null, page);
        return { limits: rows.map(toLimitView), ...pageView(page, total) };
      },
    }),
    route({
      method: "POST",
      path: "/admin/v1/limits",
      ...ADMIN,
      summary: "Make a limit",
      description: "Holds from the next request on, and counts what its window already holds.",
      body: LimitCreateRequest,
      example: DRAFT,
      answer: json(201, LimitView, LIMIT),
      errors: [
        "invalid_name",
        "limit_exists",
        "too_many_limits",
        "principal_not_found",
        "key_not_found",
        "relay_token_not_found",
      ],
      run: async ({ body, caller }) => toLimitView(await limits.create(body, toActor(caller))),
    }),
    route({
      method: "GET",
      path: "/admin/v1/limits/:id",
      ...ADMIN,
      summary: "One limit, and what was used of it",
      params: { id: ID.limit },
      answer: json(200, LimitView, LIMIT, ["etag"]),
      errors: ["limit_not_found"],
      run: async ({ params, headers }) => withTag(headers, "limit", toLimitView(await limits.get(params.id))),
    }),
    route({
      method: "GET",
      path: "/admin/v1/limits/:id/usage",
      ...ADMIN,
      summary: "What was used of a limit, by each that it holds for",
      params: { id: ID.limit },
      query: PAGE_QUERY,
      answer: json(200, pageOf("usage", LimitUse), { usage: [USE], ...PAGE }),
      errors: ["limit_not_found"],
      run: async ({ params, query }) => {
        const page = parsePage(query);
        const { limit, rows, total } = await limits.listUses(params.id, page);
        return { usage: rows.map((use) => toLimitUseView(limit, use)), ...pageView(page, total) };
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/limits/:id",
      ...ADMIN,
      summary: "Change a limit",
      description: `Subject and measure are what a limit is: make another instead. ${IF_MATCH}`,
      params: { id: ID.limit },
      body: LimitPatchRequest,
      example: { amount: 80 },
      answer: json(
        200,
        LimitView,
        {
          ...LIMIT,
          amount: 80,
          sentence: `At most $80.00 a month for ${ALICE.name}: requests beyond it are refused.`,
          left: 67.5,
        },
        ["etag"],
      ),
      errors: ["invalid_name", "limit_exists", "limit_not_found", "changed_meanwhile"],
      run: async ({ params, body, caller, request, headers }) => {
        const require = toPrecondition(request, "limit", toStoredLimitView);
        return withTag(
          headers,
          "limit",
          toLimitView(await limits.update(params.id, body, toActor(caller), require)),
        );
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/limits/:id",
      ...ADMIN,
      summary: "Delete a limit",
      params: { id: ID.limit },
      description: IF_MATCH,
      query: DRY_RUN,
      answer: json(200, DeletedOrRemoval, { deleted: ID.limit }),
      errors: ["invalid_request", "limit_not_found", "changed_meanwhile"],
      run: async ({ params, caller, request }) => {
        const require = toPrecondition(request, "limit", toStoredLimitView);
        if (isDryRun(request)) return toLimitRemovalView(await limits.findRemoval(params.id, require));
        await limits.delete(params.id, toActor(caller), require);
        return { deleted: params.id };
      },
    }),
  ] as const;
}
