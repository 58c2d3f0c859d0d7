/**
 * How a provider's stored credential is sent: as `Authorization: Bearer`, or as `x-api-key`, which servers of Anthropic's API
 * take (platform.claude.com/docs/en/api/overview).
 */
export const AUTH_STYLES = ["bearer", "x-api-key"] as const;
export type AuthStyle = (typeof AUTH_STYLES)[number];
export const AUTH_STYLE_DEFAULT: AuthStyle = "bearer";

/** The header of every call to a provider that has a credential; null without one. */
export function toAuthHeader(
  authStyle: AuthStyle,
  credential: string | null,
): [name: string, value: string] | null {
  if (credential === null) return null;
  return authStyle === "bearer" ? ["authorization", `Bearer ${credential}`] : ["x-api-key", credential];
}
