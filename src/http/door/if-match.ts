import { ProxyError, type Precondition } from "#kernel/errors.ts";
import { type StoredKind, toEntityTag } from "#views/entity-tag.ts";
import type { AnswerHeaders } from "./route.ts";

/** The sentence for it in the documentation of a change. */
export const IF_MATCH =
  "With `If-Match` and the `etag` of an answer, 412 `changed_meanwhile` where it was changed since.";

/** Puts the view's `ETag` into its answer. */
export function withTag<View extends object>(headers: AnswerHeaders, kind: StoredKind, view: View): View {
  headers.etag = toEntityTag(kind, view);
  return view;
}

/**
 * `If-Match` (RFC 9110, section 13.1.1) as a condition that is judged within the transaction of the change, so that of two
 * changes from the same state one is refused with `changed_meanwhile`. Undefined without the header.
 */
export function toPrecondition<Resource>(
  request: Request,
  kind: StoredKind,
  toView: (current: Resource) => object,
): Precondition<Resource> | undefined {
  const wanted = request.headers.get("if-match");
  if (wanted === null) return undefined;
  const tags = new Set(wanted.split(",").map((tag) => tag.trim()));
  return (current) => {
    const tag = toEntityTag(kind, toView(current));
    if (tags.has(tag) || tags.has("*")) return;
    throw new ProxyError(
      "changed_meanwhile",
      "This was changed since it was read, and nothing was saved. Read it again and repeat the change on what it is now, or send it without If-Match to write over it.",
      { headers: { etag: tag } },
    );
  };
}
