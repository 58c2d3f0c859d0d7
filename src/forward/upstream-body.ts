import { free } from "#kernel/bytes.ts";
import type { Reservation } from "#kernel/memory-semaphore.ts";
import { type ParsedRequestBody, cutBody, spliceBody } from "./request-body.ts";
import { type Upload, createUpload } from "./upload.ts";

/** A body that came, and the memory that it has reserved where it is large. */
export interface ReceivedBody {
  readonly body: Uint8Array;
  readonly reservation?: Pick<Reservation, "close"> | null;
}

/** The body that goes upstream. A short one is there at once, as a copy, and the memory of what came is freed. */
export function toUpstreamBody(
  { body, reservation = null }: ReceivedBody,
  parsed: ParsedRequestBody,
  upstreamName: Uint8Array,
): Uint8Array<ArrayBuffer> | Upload {
  if (reservation !== null) return toUpload(parsed, upstreamName, () => reservation.close());
  const spliced = spliceBody(parsed, upstreamName);
  free(body);
  return spliced;
}

/** A large body is not copied, and its memory is released once it is sent: a model may think for minutes. */
function toUpload(parsed: ParsedRequestBody, upstreamName: Uint8Array, close: () => void): Upload {
  return createUpload(cutBody(parsed, upstreamName), () => {
    free(parsed.body);
    close();
  });
}
