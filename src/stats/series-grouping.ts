import { ProxyError } from "#kernel/errors.ts";
import { parseWholeNumber, parseWord } from "#kernel/page.ts";
import { normaliseTag } from "#kernel/tags.ts";

/** What a series is cut into groups by, beside the values of one tag. An event has one value of each, or none. */
export const GROUP_FIELDS = ["model", "principal", "provider", "client", "key", "tier"] as const;
/** A caller's own usage is that of one principal. */
export const OWN_GROUP_FIELDS = [
  "model",
  "provider",
  "client",
  "key",
  "tier",
] as const satisfies readonly GroupField[];
export type GroupField = (typeof GROUP_FIELDS)[number];
export type GroupBy = { readonly field: GroupField } | { readonly field: "tag"; readonly tagKey: string };

/** What makes one group larger than another. */
export const GROUP_ORDERS = ["cost", "requests", "tokens"] as const;
export type GroupOrder = (typeof GROUP_ORDERS)[number];

/** Groups that are told apart; the rest is one more. */
export const GROUPS_DEFAULT = 10;
export const GROUPS_MAX = 100;
/** Buckets of all groups of one series, of some 150 bytes each: with more, fewer groups than asked for are told apart. */
export const GROUP_BUCKETS_MAX = 10_000;

/** What is asked of a series by group. */
export interface SeriesGrouping {
  readonly by: GroupBy;
  readonly order: GroupOrder;
  readonly top: number;
}

/**
 * The query parameters `group_by`, `order` and `top`; null without the first, and the others then count for nothing. A `top`
 * out of range falls back to the default, like the limit of a page. Throws `invalid_request` with `param` `group_by` for
 * what is neither one of `fields` nor `tag:` and a tag's key, and with `param` `order`.
 */
export function parseSeriesGrouping(
  query: URLSearchParams,
  fields: readonly GroupField[],
): SeriesGrouping | null {
  const text = query.get("group_by") || null;
  if (text === null) return null;
  const by = parseGroupBy("group_by", text, fields);
  const order = parseWord(query, "order", GROUP_ORDERS, "cost");
  const top = parseWholeNumber(query.get("top"));
  return { by, order, top: top !== null && top >= 1 && top <= GROUPS_MAX ? top : GROUPS_DEFAULT };
}

const TAG_PREFIX = "tag:";

/** The value of `group_by` in an address. */
export function formatGroupBy(by: { readonly field: string } | Extract<GroupBy, { field: "tag" }>): string {
  return "tagKey" in by ? `${TAG_PREFIX}${by.tagKey}` : by.field;
}

/** One of the fields, or `tag:` and a tag's key; throws `invalid_request` with `param` for anything else. */
export function parseGroupBy<Field extends string>(
  param: string,
  text: string,
  fields: readonly Field[],
): { readonly field: Field } | Extract<GroupBy, { field: "tag" }> {
  const field = fields.find((known) => known === text);
  if (field !== undefined) return { field };
  // A key is well-formed when a pair with it is: in a pair the first colon ends the key.
  const key = text.startsWith(TAG_PREFIX) ? text.slice(TAG_PREFIX.length) : null;
  const pair = key === null || key.includes(":") ? null : normaliseTag(`${key}:x`);
  if (pair !== null) return { field: "tag", tagKey: pair.slice(0, pair.indexOf(":")) };
  throw new ProxyError("invalid_request", `${param} must be one of ${fields.join(", ")} or tag:<key>.`, {
    param,
  });
}
