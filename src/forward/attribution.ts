import type { ResolvedModel } from "#catalog/snapshot.ts";
import { carriesOwnToken, containsOwnToken } from "#identity/secret.ts";
import { type UsageBeginning, CLIENT_LENGTH_MAX } from "#usage/event.ts";
import { parseTags } from "#kernel/tags.ts";
import { truncateCodePoints } from "#kernel/text.ts";

/**
 * The client and tags that a caller sends for its usage event, beside the tags that it cannot change. A key or token that was put into
 * the wrong setting is not kept: a client that holds one is null, a tag that holds one is left out.
 */
export function toAttribution(
  headers: Headers,
  fixedTags: readonly string[],
): Pick<UsageBeginning, "client" | "tags" | "fixedTags"> {
  const tags = parseTags(headers.get("x-proxy-tags"), fixedTags);
  return {
    client: toStoredClient(headers),
    tags: tags.some(containsOwnToken) ? tags.filter((tag) => !containsOwnToken(tag)) : tags,
    fixedTags,
  };
}

/** Null as well for one that holds a key or a token. */
export function toStoredClient(headers: Headers): string | null {
  const userAgent = headers.get("user-agent");
  // The whole of it is looked at: what is stored is cut, perhaps inside of a token.
  return userAgent === null || carriesOwnToken(userAgent) ? null : toClient(userAgent);
}

/** Who asks, when, and for what. */
interface Asking extends Pick<UsageBeginning, "arrivedAtUs" | "endpoint"> {
  readonly caller: Pick<UsageBeginning, "principalId" | "principalName" | "keyId" | "fixedTags">;
  readonly headers: Headers;
}

/** A request to a model as its usage event begins. */
export function toSubject(
  { arrivedAtUs, caller, endpoint, headers }: Asking,
  { stream }: { readonly stream: boolean },
  { model, provider, upstreamName }: ResolvedModel,
): UsageBeginning {
  const { client, tags, fixedTags } = toAttribution(headers, caller.fixedTags);
  return {
    arrivedAtUs,
    principalId: caller.principalId,
    principalName: caller.principalName,
    keyId: caller.keyId,
    relayTokenId: null,
    providerId: provider.id,
    model: model.alias,
    upstreamName,
    endpoint,
    client,
    tags,
    fixedTags,
    streamed: stream,
  };
}

/** The stored client: a User-Agent as it came, cut to 256 code points; null when there was none (specification, section 2.10). */
export function toClient(userAgent: string | null): string | null {
  if (userAgent === null || userAgent === "") return null;
  return truncateCodePoints(isAscii(userAgent) ? userAgent : decode(userAgent), CLIENT_LENGTH_MAX);
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

/** A header arrives as one character per byte (RFC 9110, section 5.5): bytes that are UTF-8 were meant as such. */
function decode(text: string): string {
  if (!/^[\0-\xff]*$/.test(text)) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    return text;
  }
}
