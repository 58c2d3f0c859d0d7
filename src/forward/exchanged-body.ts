import { type EndpointName, toRow } from "#catalog/endpoint.ts";
import { free } from "#kernel/bytes.ts";
import type { Reservation } from "#kernel/memory-semaphore.ts";
import { cutForm, parseForm, parseLargeForm, refuseDelimiterIn, type ParsedForm } from "./form-body.ts";
import { SCANNED_AT_ONCE_BYTES_MAX } from "./paced-scan.ts";
import {
  cutBody,
  parseLargeBody,
  parseRequestBody,
  type ParsedRequestBody,
  spliceBody,
} from "./request-body.ts";
import type { Route } from "./route.ts";
import { createUpload, type Upload } from "./upload.ts";

/** A body that came, and the memory that it has reserved where it is large. */
export interface ReceivedBody {
  readonly body: Uint8Array;
  readonly reservation?: Pick<Reservation, "close"> | null;
}

export type ParsedBody = ParsedRequestBody | ParsedForm;

interface Received extends ReceivedBody {
  readonly endpoint: EndpointName;
  readonly headers: Headers;
}

export function isForm(parsed: ParsedBody): parsed is ParsedForm {
  return "modelAt" in parsed;
}

/** Reads what the endpoint may read of a body: JSON, or a form where it takes one. Throws as `parseRequestBody` and `parseForm` do. */
export function parseBody({ body, endpoint, headers }: Received): ParsedBody | Promise<ParsedBody> {
  const isLarge = body.length > SCANNED_AT_ONCE_BYTES_MAX;
  const kind = toRow(endpoint).body;
  if (kind === "json" || (kind === "json_or_form" && !isMultipart(headers)))
    return isLarge ? parseLargeBody(body, endpoint) : parseRequestBody(body, endpoint);
  const contentType = headers.get("content-type");
  return isLarge ? parseLargeForm(body, contentType) : parseForm(body, contentType);
}

function isMultipart(headers: Headers): boolean {
  return /^\s*multipart\//i.test(headers.get("content-type") ?? "");
}

/** The body that goes upstream. A short one is there at once, as a copy, and the memory of what came is freed. */
export function toUpstreamBody(
  { body, reservation = null }: ReceivedBody,
  parsed: ParsedBody,
  route: Pick<Route, "model" | "upstreamName">,
): Uint8Array<ArrayBuffer> | Upload {
  if (reservation !== null)
    return createUpload(cut(parsed, route), () => {
      // A large body is not copied, and its memory is released once it is sent: a model may think for minutes.
      free(body);
      reservation.close();
    });
  const spliced = isForm(parsed) ? Buffer.concat(cut(parsed, route)) : spliceBody(parsed, route.upstreamName);
  free(body);
  return spliced;
}

function cut(
  parsed: ParsedBody,
  { model, upstreamName }: Pick<Route, "model" | "upstreamName">,
): Uint8Array[] {
  return isForm(parsed) ? cutForm(parsed, Buffer.from(model.upstreamName)) : cutBody(parsed, upstreamName);
}

/** Throws `invalid_multipart` where the upstream name would end a part of a form. */
export function refuseName(parsed: ParsedBody, { model }: Pick<Route, "model">): void {
  if (isForm(parsed)) refuseDelimiterIn(parsed, Buffer.from(model.upstreamName));
}
