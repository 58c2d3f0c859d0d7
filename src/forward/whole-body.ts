import { free } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";
import { GatheredBytes } from "#kernel/gathered-bytes.ts";
import { BUSY_RETRY_AFTER_SECONDS } from "#kernel/memory-semaphore.ts";
import { type ScanShare, SCANNED_BYTES_MAX } from "./relay-body.ts";
import type { BodySource } from "./upload.ts";

/**
 * Reads a relayed body that is looked at before any of it goes upstream: a decoder that reads as it comes begins with the end of
 * the object, whatever follows. The share has its bytes until they are given back. Throws `invalid_request` for one that is too
 * large to be looked at, `busy` when the share has no memory left, and what the source throws.
 */
export async function readWholeBody(source: BodySource, share: ScanShare): Promise<Uint8Array<ArrayBuffer>> {
  if ((source.sizeBytes ?? 0) > SCANNED_BYTES_MAX) throw tooLarge();
  const gathered = new GatheredBytes();
  try {
    for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
      if (gathered.sizeBytes + chunk.length > SCANNED_BYTES_MAX) throw tooLarge();
      if (!share.take(chunk.length)) throw toBusy();
      gathered.push(chunk);
      free(chunk);
    }
    return gathered.moveIntoOne();
  } catch (failure) {
    share.giveBack(gathered.sizeBytes);
    gathered.release();
    throw failure;
  }
}

function tooLarge(): ProxyError {
  return new ProxyError(
    "invalid_request",
    `A limit goes by the model of your requests: a relayed body may have ${SCANNED_BYTES_MAX} bytes.`,
    { param: "model" },
  );
}

function toBusy(): ProxyError {
  return new ProxyError(
    "busy",
    "Your other large requests have taken the memory for large bodies. Try again.",
    { retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS },
  );
}
