import type { ForwardResult } from "#forward/open-exchange.ts";
import { setProxiedBy, toProxiedBy } from "#forward/headers.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { closeUnread } from "#http/door/body-reader.ts";
import { toErrorResponse, toGoneResponse, withRequestId } from "#http/door/envelope.ts";

/** The response of an exchange: the upstream's answer, or a 502 `provider_unreachable` in its place. */
export function toExchangeResponse(
  answer: ForwardResult,
  request: Request,
  { arrivedAtUs, lane }: { readonly arrivedAtUs: InstantUs; readonly lane: number },
): Response {
  if (answer.kind === "responded") return closeUnread(request, answer.response);
  if (answer.kind === "cancelled") return toGoneResponse();
  if (answer.kind === "refused")
    return withRequestId(toErrorResponse(answer.refusal, request), arrivedAtUs, lane);
  const error = new ProxyError("provider_unreachable", `The provider did not answer: ${answer.error}.`);
  const response = withRequestId(toErrorResponse(error, request), arrivedAtUs, lane);
  setProxiedBy(response.headers, toProxiedBy(answer.provider, answer.upstreamName));
  return response;
}
