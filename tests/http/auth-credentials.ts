/** Who is who in the matrix: made in the process, or over HTTP. */
export interface Cast {
  /** Of the server, without a slash at the end. */
  readonly url: string;
  readonly goodToken: string;
  readonly deletedToken: string;
  readonly member: Keyed;
  readonly admin: Keyed;
  readonly deleted: Keyed;
  /** The secret of an admin's key from before a rotation, in its grace. */
  readonly former: Keyed;
  /** An admin's key whose scope is inference. */
  readonly scoped: Keyed;
  readonly serviceKey: string;
  /** Admins, to whom something happened after they had all of this. */
  readonly gone: Doomed;
  readonly disabled: Doomed;
  readonly demoted: Doomed;
  readonly revoked: Doomed;
  /** `Cookie` headers. */
  readonly adminSession: string;
  readonly memberSession: string;
  readonly expiredSession: string;
}

export interface Keyed {
  readonly key: string;
}

export interface Doomed extends Keyed {
  readonly token: string;
  readonly session: string;
}

/** The worth of a credential, wherever it is shown (specification, section 5). */
type Worth = "missing_api_key" | "invalid_api_key" | "former" | "inference" | "member" | "admin";

export interface Credential {
  readonly name: string;
  readonly headers: Record<string, string>;
  readonly worth: Worth;
  /** A browser's page of another origin sends it: with a session it may only read. */
  readonly foreign: "by session" | "by key" | null;
}

const FOREIGN = "http://evil.example";
const UNKNOWN_KEY = `lp_${"a".repeat(43)}`;
const UNKNOWN_TOKEN = `lpt_${"a".repeat(43)}`;

/** Tokens that open nothing in the relay's path, by their names. */
export function toBadTokens({
  deletedToken,
  gone,
  disabled,
  admin,
  member,
}: Cast): ReadonlyMap<string, string> {
  return new Map([
    ["an unknown token", UNKNOWN_TOKEN],
    ["a malformed token", "token"],
    ["a deleted token", deletedToken],
    ["the token of a deleted principal", gone.token],
    ["the token of a disabled principal", disabled.token],
    ["an admin's API key", admin.key],
    ["a member's API key", member.key],
  ]);
}

/** Every credential that a request may come with. */
export function toCredentials(cast: Cast): readonly Credential[] {
  const { url, goodToken, member, admin, deleted, former, scoped, serviceKey } = cast;
  const { gone, disabled, demoted, revoked } = cast;
  const { adminSession, memberSession, expiredSession } = cast;
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const apiKey = (key: string) => ({ "x-api-key": key });
  const session = (cookie: string, more: Record<string, string> = {}) => ({ cookie, ...more });
  const rows: readonly [
    name: string,
    worth: Worth,
    headers: Record<string, string>,
    foreign?: "by session" | "by key",
  ][] = [
    ["nothing", "missing_api_key", {}],
    ["nothing from a foreign origin", "missing_api_key", { origin: FOREIGN }, "by key"],
    ["another scheme", "missing_api_key", { authorization: "Basic YTpi" }],
    ["Bearer with nothing after it", "missing_api_key", { authorization: "Bearer" }],
    ["an admin's key without a scheme", "missing_api_key", { authorization: admin.key }],
    ["a malformed key", "invalid_api_key", bearer("sk-123")],
    ["an unknown key", "invalid_api_key", bearer(UNKNOWN_KEY)],
    ["a deleted key", "invalid_api_key", bearer(deleted.key)],
    ["a deleted key in x-api-key", "invalid_api_key", apiKey(deleted.key)],
    ["a former secret of an admin's key", "former", bearer(former.key)],
    [
      "a former secret of an admin's key beside a session",
      "former",
      session(adminSession, apiKey(former.key)),
    ],
    ["an admin's key for inference", "inference", bearer(scoped.key)],
    ["an admin's key for inference in x-api-key", "inference", apiKey(scoped.key)],
    ["an admin's key for inference beside a session", "inference", session(adminSession, bearer(scoped.key))],
    ["the key of a deleted principal", "invalid_api_key", bearer(gone.key)],
    ["the key of a disabled principal", "invalid_api_key", bearer(disabled.key)],
    ["a relay token", "invalid_api_key", bearer(goodToken)],
    ["a relay token in x-api-key", "invalid_api_key", apiKey(goodToken)],
    ["a relay token in the session's cookie", "missing_api_key", session(`proxy_session=${goodToken}`)],
    ["an admin's key in the session's cookie", "missing_api_key", session(`proxy_session=${admin.key}`)],
    ["a member's key", "member", bearer(member.key)],
    ["a service's key", "member", bearer(serviceKey)],
    ["the key of an admin who is a member now", "member", bearer(demoted.key)],
    ["a member's key in x-api-key", "member", apiKey(member.key)],
    ["an admin's key", "admin", bearer(admin.key)],
    ["an admin's key under a lower-case scheme", "admin", { authorization: `bearer ${admin.key}` }],
    ["an admin's key in x-api-key", "admin", apiKey(admin.key)],
    ["the key of an admin whose sessions were revoked", "admin", bearer(revoked.key)],
    [
      "a bad bearer beside a good x-api-key",
      "invalid_api_key",
      { ...bearer(UNKNOWN_KEY), ...apiKey(admin.key) },
    ],
    ["an empty bearer beside a good x-api-key", "admin", { authorization: "Bearer ", ...apiKey(admin.key) }],
    [
      "another scheme beside a good x-api-key",
      "admin",
      { authorization: "Basic YTpi", ...apiKey(admin.key) },
    ],
    [
      "a member's bearer beside an admin's x-api-key",
      "member",
      { ...bearer(member.key), ...apiKey(admin.key) },
    ],
    [
      "two bearers in one header",
      "invalid_api_key",
      { authorization: `Bearer ${admin.key}, Bearer ${admin.key}` },
    ],
    ["a bad key beside a good session", "invalid_api_key", session(adminSession, bearer(UNKNOWN_KEY))],
    ["a member's key beside an admin's session", "member", session(adminSession, bearer(member.key))],
    ["an admin's key from a foreign origin", "admin", { ...bearer(admin.key), origin: FOREIGN }, "by key"],
    [
      "an admin's key beside a session from a foreign origin",
      "admin",
      session(adminSession, { ...bearer(admin.key), origin: FOREIGN }),
      "by key",
    ],
    ["an admin's session", "admin", session(adminSession)],
    ["an admin's session from its own origin", "admin", session(adminSession, { origin: url })],
    [
      "an admin's session of the same site",
      "admin",
      session(adminSession, { "sec-fetch-site": "same-origin" }),
    ],
    [
      "an admin's session from a foreign origin",
      "admin",
      session(adminSession, { origin: FOREIGN }),
      "by session",
    ],
    [
      "an admin's session from a null origin",
      "admin",
      session(adminSession, { origin: "null" }),
      "by session",
    ],
    [
      "an admin's session from another site",
      "admin",
      session(adminSession, { "sec-fetch-site": "cross-site" }),
      "by session",
    ],
    ["a member's session", "member", session(memberSession)],
    [
      "a member's session from a foreign origin",
      "member",
      session(memberSession, { origin: FOREIGN }),
      "by session",
    ],
    ["the session of an admin who is a member now", "member", session(demoted.session)],
    ["an expired session", "missing_api_key", session(expiredSession)],
    ["a revoked session", "missing_api_key", session(revoked.session)],
    ["a tampered session", "missing_api_key", session(`${adminSession}x`)],
    [
      "a member's session whose role was rewritten",
      "missing_api_key",
      session(memberSession.replace(".member.", ".admin.")),
    ],
    ["two sessions", "missing_api_key", session(`${adminSession}; ${adminSession}`)],
    ["the session of a deleted principal", "missing_api_key", session(gone.session)],
    ["the session of a disabled principal", "missing_api_key", session(disabled.session)],
  ];
  return rows.map(([name, worth, headers, foreign = null]) => ({ name, worth, headers, foreign }));
}
