import type { ForwardResult } from "#forward/open-exchange.ts";
import { setProxiedBy, toProxiedBy } from "#forward/headers.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { eventIdToUuid } from "#kernel/ids.ts";
import { closeUnread } from "#http/door/body-reader.ts";
import { type ErrorDialect, toErrorResponse, toGoneResponse } from "#http/door/envelope.ts";

export interface AnsweredRequest {
  readonly arrivedAtUs: InstantUs;
  readonly lane: number;
  readonly dialect: ErrorDialect;
}

/** The response of an exchange: the upstream's answer, or a 502 `provider_unreachable` in its place. */
export function toExchangeResponse(
  answer: ForwardResult,
  request: Request,
  { arrivedAtUs, lane, dialect }: AnsweredRequest,
): Response {
  if (answer.kind === "responded") return closeUnread(request, answer.response);
  if (answer.kind === "cancelled") return toGoneResponse();
  const context = { requestId: eventIdToUuid(arrivedAtUs, lane), dialect };
  if (answer.kind === "refused") return toErrorResponse(answer.refusal, request, context);
  const error = new ProxyError("provider_unreachable", `The provider did not answer: ${answer.error}.`);
  const response = toErrorResponse(error, request, context);
  setProxiedBy(response.headers, toProxiedBy(answer.provider, answer.upstreamName));
  return response;
}
