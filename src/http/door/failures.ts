import { toStoredClient } from "#forward/headers.ts";
import { findKeySuffix } from "#identity/caller.ts";
import type { Principal } from "#identity/principal.ts";
import { toPeer } from "#identity/peer.ts";
import { carriesOwnToken } from "#identity/secret.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError, SetupError, toUnreachableRefusal, UnreachableError } from "#kernel/errors.ts";
import { eventIdToUuid } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { toPrintable } from "#kernel/printable.ts";
import { ALIAS_LENGTH_MAX, truncateCodePoints } from "#kernel/text.ts";
import { type ErrorDialect, toErrorResponse, toGoneResponse } from "./envelope.ts";
import { isWrongCredential, type Refusals } from "./refusals.ts";

/** Facts of a request that are known when it fails. */
export interface FailedRequest {
  readonly arrivedAtUs: InstantUs;
  /** Asked only when its refusal leaves a trace. */
  readonly findAddress: () => string | null;
  /** Null where no caller was admitted. */
  readonly principal: Pick<Principal, "id" | "name"> | null;
  /** `chat`, …, or a path; null outside of the data plane. */
  readonly dataPlane: string | null;
  readonly dialect: ErrorDialect;
}

/** The one place where what was thrown becomes an answer. */
export interface Failures {
  /**
   * The answer to whatever was thrown while a request was served. A cause never goes on the wire; any failure that is no
   * refusal is `internal_error` and is logged by its class and code alone, unless the log has it already. A refusal of the
   * data plane, and a wrong credential anywhere, leave a trace.
   */
  answer(failure: unknown, request: Request, failed: FailedRequest): Response;
}

const PATH_LENGTH_MAX = 200;

export function createFailures(log: Log, refusals: Refusals, lane = 0): Failures {
  const note = (id: string, refusal: ProxyError, { request, failed }: NotedRequest) => {
    const { url, headers } = request;
    const { arrivedAtUs, findAddress, principal, dataPlane } = failed;
    const { code, model } = refusal;
    if (dataPlane === null && !isWrongCredential(code)) return;
    refusals.add(
      {
        id,
        arrivedAtUs,
        code,
        message: toMessage(refusal),
        principal: principal?.name ?? null,
        principalId: principal?.id ?? null,
        keySuffix: findKeySuffix(headers),
        model: model === null ? null : toShown(model, ALIAS_LENGTH_MAX),
        endpoint: toShown(dataPlane ?? pathOf(url), PATH_LENGTH_MAX),
        client: toStoredClient(headers),
      },
      toPeer(findAddress()),
    );
  };

  return {
    answer(failure, request, failed) {
      const refusal = toRefusal(failure);
      if (refusal === null && request.signal.aborted) return toGoneResponse();
      const requestId = eventIdToUuid(failed.arrivedAtUs, lane);
      if (refusal !== null) note(requestId, refusal, { request, failed });
      const error =
        refusal ??
        new ProxyError("internal_error", "The server failed; its log says more.", { cause: failure });
      if (error.code === "internal_error" && !error.isLogged) {
        log.error("a request failed", {
          method: request.method,
          request_id: requestId,
          ...describeCause(error.cause ?? error),
        });
      }
      return toErrorResponse(error, request, { requestId, dialect: failed.dialect });
    },
  };
}

interface NotedRequest {
  readonly request: Request;
  readonly failed: FailedRequest;
}

/** Elysia wraps what a parse hook throws. Null: no refusal. */
function toRefusal(failure: unknown): ProxyError | null {
  if (failure instanceof ProxyError) return failure;
  if (failure instanceof UnreachableError) return toUnreachableRefusal(failure, failure.mayBeCommitted);
  if (failure instanceof SetupError) return toSetupRefusal(failure);
  if (failure instanceof Error && failure.cause instanceof ProxyError) return failure.cause;
  return null;
}

/** Such as a role whose password was changed. A change that was committed says so in a refusal of its own. */
function toSetupRefusal(cause: SetupError): ProxyError {
  const message = "Something that the server needs is refused to it, as its log says: nothing was changed.";
  return new ProxyError("internal_error", message, { cause });
}

/** A text that came with a request, as an admin may read it; null where it holds a key or a token, however it is encoded. */
function toShown(text: string, lengthMax: number): string | null {
  return carriesOwnToken(text) ? null : toPrintable(truncateCodePoints(text, lengthMax).toWellFormed());
}

/** Null where the model that it names holds a key or a token: the message has a part of it. */
function toMessage({ message, model }: ProxyError): string | null {
  return carriesOwnToken(model ?? "") || carriesOwnToken(message) ? null : message;
}

/** Without its query: only names of parameters are ours. */
function pathOf(url: string): string {
  return URL.parse(url, "http://localhost")?.pathname ?? "";
}
