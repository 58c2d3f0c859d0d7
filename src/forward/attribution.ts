import type { ResolvedModel } from "#catalog/snapshot.ts";
import { containsOwnToken } from "#identity/secret.ts";
import type { UsageBeginning } from "#usage/event.ts";
import { toClient } from "#usage/client.ts";
import { parseTags } from "#usage/tags.ts";

/**
 * What a caller says of itself, for its usage event. A key or token that was put into the wrong setting is not kept: a
 * client that holds one is null, a tag that holds one is left out.
 */
export function toAttribution(headers: Headers): Pick<UsageBeginning, "client" | "tags"> {
  const userAgent = headers.get("user-agent");
  // The whole of it is looked at: what is stored is cut, perhaps inside of a token.
  const isClean = userAgent === null || !containsOwnToken(userAgent);
  const tags = parseTags(headers.get("x-proxy-tags"));
  return {
    client: isClean ? toClient(userAgent) : null,
    tags: tags.some(containsOwnToken) ? tags.filter((tag) => !containsOwnToken(tag)) : tags,
  };
}

/** Who asks, when, and for what. */
interface Asking extends Pick<UsageBeginning, "arrivedAtUs" | "endpoint"> {
  readonly caller: Pick<UsageBeginning, "principalId" | "principalName" | "keyId">;
  readonly headers: Headers;
}

/** A request to a model as its usage event begins. */
export function toSubject(
  { arrivedAtUs, caller, endpoint, headers }: Asking,
  { stream }: { readonly stream: boolean },
  { model, provider, upstreamName }: ResolvedModel,
): UsageBeginning {
  const { client, tags } = toAttribution(headers);
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
    streamed: stream,
  };
}
