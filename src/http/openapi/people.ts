import { Type } from "@sinclair/typebox";
import {
  AdminEvent,
  AdminKeyCreated,
  AdminKeyView,
  AdminRelayTokenView,
  PrincipalChanged,
  PrincipalListEntry,
  PrincipalView,
  SessionsRevoked,
} from "#http/schemas/identity.ts";
import { Deleted, pageOf } from "#http/schemas/shared.ts";
import {
  AdminKeyCreateRequest,
  NoRequest,
  PrincipalCreateRequest,
  PrincipalPatchRequest,
} from "#http/schemas/requests.ts";
import { ALICE_KEY, ID, INSTANT, PAGE, PROVIDER, RELAY_TOKEN } from "./examples.ts";
import { json, type Operation, type QueryParam } from "./operation.ts";
import { PAGE_QUERY } from "./report-parts.ts";

const ALICE = { id: ID.alice, name: "alice", kind: "user", role: "member" };
const KEY = {
  id: ID.aliceKey,
  key_suffix: ALICE_KEY.slice(-4),
  label: "laptop",
  created_at: INSTANT,
  last_used_at: null,
  principal: ALICE.name,
};
const TOKEN = {
  id: ID.aliceToken,
  token_suffix: RELAY_TOKEN.slice(-4),
  label: "editor",
  created_at: INSTANT,
  last_used_at: null,
  principal: ALICE.name,
};
const OWNER_QUERY: readonly QueryParam[] = [
  ...PAGE_QUERY,
  { name: "principal", schema: Type.String(), description: "Only those of the principal with this name." },
];

/** Specification, section 4.6, and the decisions, "Admin": principals, their keys and tokens, and what admins did. */
export const peopleOperations: readonly Operation[] = [
  {
    ...admin("POST", "/admin/v1/principals", "Make a principal"),
    body: { schema: PrincipalCreateRequest, example: { name: ALICE.name } },
    answers: [json(201, PrincipalView, ALICE)],
    errors: ["invalid_name", "principal_exists"],
  },
  {
    ...admin("GET", "/admin/v1/principals", "The principals"),
    query: PAGE_QUERY,
    answers: [
      json(200, pageOf("principals", PrincipalListEntry), {
        principals: [{ ...ALICE, created_at: INSTANT }],
        ...PAGE,
      }),
    ],
  },
  {
    ...admin("PATCH", "/admin/v1/principals/:id", "Change a principal's role, or disable it"),
    params: { id: ID.alice },
    body: { schema: PrincipalPatchRequest, example: { enabled: false } },
    answers: [json(200, PrincipalChanged, { ...ALICE, created_at: INSTANT, enabled: false })],
    errors: ["principal_not_found", "last_admin"],
  },
  {
    ...admin("DELETE", "/admin/v1/principals/:id", "Delete a principal, its keys, tokens and sessions"),
    params: { id: ID.alice },
    answers: [json(200, Deleted, { deleted: ID.alice })],
    errors: ["principal_not_found", "last_admin"],
  },
  {
    ...admin("POST", "/admin/v1/principals/:id/revoke-sessions", "End every session of a principal"),
    description: "Its keys stay. The body may be left out.",
    params: { id: ID.alice },
    body: { schema: NoRequest, example: {}, optional: true },
    answers: [json(200, SessionsRevoked, { revoked: 2 })],
    errors: ["principal_not_found"],
  },
  {
    ...admin("POST", "/admin/v1/keys", "Make a key for a principal"),
    body: { schema: AdminKeyCreateRequest, example: { principal: ALICE.name, label: KEY.label } },
    answers: [json(201, AdminKeyCreated, { ...KEY, key: ALICE_KEY })],
    errors: ["invalid_label", "principal_not_found"],
  },
  {
    ...admin("GET", "/admin/v1/keys", "Everybody's keys"),
    query: OWNER_QUERY,
    answers: [json(200, pageOf("keys", AdminKeyView), { keys: [KEY], ...PAGE })],
  },
  {
    ...admin("DELETE", "/admin/v1/keys/:id", "Delete a key"),
    params: { id: ID.aliceKey },
    answers: [json(200, Deleted, { deleted: ID.aliceKey })],
    errors: ["key_not_found"],
  },
  {
    ...admin("GET", "/admin/v1/relay-tokens", "Everybody's relay tokens"),
    query: OWNER_QUERY,
    answers: [json(200, pageOf("relay_tokens", AdminRelayTokenView), { relay_tokens: [TOKEN], ...PAGE })],
  },
  {
    ...admin("DELETE", "/admin/v1/relay-tokens/:id", "Delete a relay token"),
    params: { id: ID.aliceToken },
    answers: [json(200, Deleted, { deleted: ID.aliceToken })],
    errors: ["relay_token_not_found"],
  },
  {
    ...admin("GET", "/admin/v1/events", "What admins changed, newest first"),
    query: PAGE_QUERY,
    answers: [
      json(200, pageOf("events", AdminEvent), {
        events: [
          {
            ts: INSTANT,
            actor_principal_id: ID.admin,
            actor: "admin",
            action: "provider.create",
            target_kind: "provider",
            target_ref: PROVIDER.name,
          },
        ],
        ...PAGE,
      }),
    ],
  },
];

function admin(method: string, path: string, summary: string) {
  return { method, path, access: "admin", tag: "People", summary } as const;
}
