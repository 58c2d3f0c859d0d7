import { ProxyError } from "#kernel/errors.ts";
import { type StoredKind, toEntityTag } from "#views/entity-tag.ts";
import { NO_PRECONDITION, type Precondition } from "#kernel/precondition.ts";

/** What the documentation of a change says of it. */
export const IF_MATCH =
  "With `If-Match` and the `etag` of an answer, 412 `changed_meanwhile` where it was changed since.";

/** Puts the view's `ETag` into its answer. */
export function withTag<View extends object>(
  set: { readonly headers: { etag?: string | undefined } },
  kind: StoredKind,
  view: View,
): View {
  set.headers.etag = toEntityTag(kind, view);
  return view;
}

/**
 * What `If-Match` asks for (RFC 9110, section 13.1.1), to be judged within the transaction of the change, so that of two that
 * were made from the same one is refused. Without the header everything passes. Throws `changed_meanwhile`.
 */
export function toPrecondition<Resource>(
  request: Request,
  toTag: (current: Resource) => string,
): Precondition<Resource> {
  const wanted = request.headers.get("if-match");
  if (wanted === null) return NO_PRECONDITION;
  const tags = new Set(wanted.split(",").map((tag) => tag.trim()));
  return (current) => {
    const tag = toTag(current);
    if (tags.has(tag) || tags.has("*")) return;
    throw new ProxyError(
      "changed_meanwhile",
      "This was changed since it was read, and nothing was saved. Read it again and repeat the change on what it is now, or send it without If-Match to write over it.",
      { headers: { etag: tag } },
    );
  };
}
