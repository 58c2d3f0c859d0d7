import { type EndpointName, toRow } from "#catalog/endpoint.ts";
import { BUFFER } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type Member, type ScannedText, type Span, readString, scanJson } from "./json-scan.ts";
import { scanJsonInTurns } from "./paced-scan.ts";

/** The fields of a request body that the data plane may read, and where they stand. Content is never looked at. */
export interface ParsedRequestBody {
  /** The public alias that the caller asked for; never empty. */
  readonly model: string;
  /** True only for JSON `true`, and never where the endpoint does not read the field. */
  readonly stream: boolean;
  /** True when `stream_options.include_usage` is set. */
  readonly forcesUsage: boolean;
  /** False when `stream` is something else than true, false and null, which is refused. */
  readonly isStreamTold: boolean;
  /** Items of an array `input`; the most of them when `input` occurs more than once; null when it is no array. */
  readonly inputItemCount: number | null;
  readonly scanned: ScannedText;
  /** The `stream_options` that count: the last of them. */
  readonly options: StreamOptions | null;
}

interface StreamOptions {
  readonly member: Member;
  /** Its value as a text of its own. */
  readonly scanned: ScannedText;
}

const INCLUDE_USAGE = ["include_usage"] as const;
const FORCED_OPTIONS = Buffer.from('{"include_usage":true}');
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const TRUE_LEAD = 0x74;
const FALSE_LEAD = 0x66;
const NULL_LEAD = 0x6e;

/**
 * Reads the four fields of section 1 out of a request body and checks the whole of it.
 * Throws `invalid_json`, `invalid_request` for a field that some upstreams would read as one of the four (param: that one), and
 * `model_required` (param `model`) for a body that is not an object or names no model.
 */
export function parseRequestBody(body: Uint8Array, endpoint: EndpointName): ParsedRequestBody {
  const { fields } = toRow(endpoint);
  const scanned = scanJson(body, fields);
  const member = findOptions(scanned);
  const options =
    member === null ? null : { member, scanned: scanJson(toValue(body, member), INCLUDE_USAGE) };
  return toParsedBody(scanned, options, endpoint);
}

/** `parseRequestBody` of a large body, whose `stream_options` may be as large, in turns. */
export async function parseLargeBody(body: Uint8Array, endpoint: EndpointName): Promise<ParsedRequestBody> {
  const { fields } = toRow(endpoint);
  const scanned = await scanJsonInTurns(body, fields);
  const member = findOptions(scanned);
  const options =
    member === null ? null : { member, scanned: await scanJsonInTurns(toValue(body, member), INCLUDE_USAGE) };
  return toParsedBody(scanned, options, endpoint);
}

function findOptions({ members }: ScannedText): Member | null {
  return members.findLast(isOptions) ?? null;
}

function isOptions({ name }: Member): boolean {
  return name === "stream_options";
}

function toValue(body: Uint8Array, { start, end }: Span): Uint8Array {
  return body.subarray(start, end);
}

function toParsedBody(
  scanned: ScannedText,
  options: StreamOptions | null,
  endpoint: EndpointName,
): ParsedRequestBody {
  if (scanned.kind !== "object") throw modelRequired("The request body must be a JSON object with a model.");
  refuseLookalike(scanned);
  if (options !== null) refuseLookalike(options.scanned);
  let model: Member | null = null;
  let stream: Member | null = null;
  let inputItemCount: number | null = null;
  for (const member of scanned.members) {
    if (member.name === "model") model = member;
    else if (member.name === "stream") stream = member;
    else if (member.name === "input" && member.itemCount !== null)
      inputItemCount = Math.max(inputItemCount ?? 0, member.itemCount);
  }
  const { text } = scanned;
  const alias = model !== null && text[model.start] === 0x22 ? readString(text, model) : "";
  if (alias === "") throw modelRequired("The request must name a model: a non-empty string.");
  // The text is valid JSON, so that a value's first byte tells what it is.
  const streamLead = stream === null ? NULL_LEAD : text[stream.start];
  const isStreamed = streamLead === TRUE_LEAD;
  return {
    model: alias,
    stream: isStreamed,
    forcesUsage: isStreamed && toRow(endpoint).fields.some((field) => field === "stream_options"),
    isStreamTold: streamLead === TRUE_LEAD || streamLead === FALSE_LEAD || streamLead === NULL_LEAD,
    inputItemCount,
    scanned,
    options,
  };
}

/**
 * Throws `invalid_request`. Decoders that ignore the case of names, as Go's does, would read the member as the field: another
 * model than the one that was resolved, or a stream that tells no usage.
 */
export function refuseLookalike({ lookalike: field }: ScannedText): void {
  if (field === null) return;
  throw new ProxyError(
    "invalid_request",
    `The body has a field that differs from ${field} in nothing but case, and that some providers read as ${field}. Write it as ${field}, or leave it out.`,
    { param: field },
  );
}

/** Throws `invalid_request`: an upstream that takes 1 or "yes" for true would stream an answer that tells no usage. */
export function refuseUntoldStream({ isStreamTold, model }: ParsedRequestBody): void {
  if (isStreamTold) return;
  throw new ProxyError("invalid_request", "The field stream must be true, false or null.", {
    param: "stream",
    model,
  });
}

/** Throws `embedding_batch_too_large`. */
export function refuseLargeBatch({ inputItemCount, model }: ParsedRequestBody, itemsMax: number): void {
  if (inputItemCount === null || inputItemCount <= itemsMax) return;
  throw new ProxyError(
    "embedding_batch_too_large",
    `A request may hold ${itemsMax} inputs; this one holds ${inputItemCount}.`,
    {
      param: "input",
      model,
    },
  );
}

/** An upstream model name as a body holds it. */
export function toJsonText(upstreamName: string): Uint8Array {
  return Buffer.from(JSON.stringify(upstreamName));
}

/**
 * Shorter bodies are spliced here: memory of its own for each would be a tenth of what a request leaves behind. The runtime
 * has copied it when `fetch` returns (Fetch, "extract a body"). Always a part of it, by which `Upstream` tells it.
 */
const SPLICED = Buffer.allocUnsafeSlow(64 * 1024);

/** The body that goes upstream, to be sent before another is spliced. `upstreamName` is JSON. */
export function spliceBody(parsed: ParsedRequestBody, upstreamName: Uint8Array): Uint8Array<ArrayBuffer> {
  const { text } = parsed.scanned;
  const edits = listEdits(parsed, upstreamName);
  let sizeBytes = text.length;
  for (const { start, end, bytes } of edits) sizeBytes += bytes.length - (end - start);
  const spliced =
    sizeBytes < SPLICED.length ? SPLICED.subarray(0, sizeBytes) : Buffer.allocUnsafeSlow(sizeBytes);
  let from = 0;
  let to = 0;
  for (const { start, end, bytes } of edits) {
    to += BUFFER.copy.call(text, spliced, to, from, start);
    spliced.set(bytes, to);
    to += bytes.length;
    from = end;
  }
  BUFFER.copy.call(text, spliced, to, from);
  return spliced;
}

/**
 * The body that goes upstream, in pieces, most of which are parts of the body that came: every byte stays but for the values of `model`,
 * which become the upstream model name, and on a streamed request `stream_options.include_usage`, which becomes true
 * (section 1, rule 2).
 */
export function cutBody(parsed: ParsedRequestBody, upstreamName: Uint8Array): Uint8Array[] {
  const { text } = parsed.scanned;
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const { start, end, bytes } of listEdits(parsed, upstreamName)) {
    pieces.push(text.subarray(at, start), bytes);
    at = end;
  }
  pieces.push(text.subarray(at));
  return pieces;
}

/** In the order in which they stand. */
function listEdits(
  { scanned, stream, forcesUsage, options }: ParsedRequestBody,
  upstreamName: Uint8Array,
): readonly Edit[] {
  const edits: Edit[] = [];
  let lastStream: Member | null = null;
  for (const member of scanned.members) {
    const { name: field, start, end } = member;
    // The last occurrence of a repeated field counts. The others are made equal to it, for an upstream that reads the first.
    if (field === "model") {
      edits.push({ start, end, bytes: upstreamName });
    } else if (field === "stream") {
      if (lastStream !== null)
        edits.push({ start: lastStream.start, end: lastStream.end, bytes: stream ? TRUE : FALSE });
      lastStream = member;
    } else if (field === "stream_options" && forcesUsage) {
      if (member === options?.member) edits.push(...forceUsage(options));
      else edits.push({ start, end, bytes: FORCED_OPTIONS });
    }
  }
  if (forcesUsage && options === null)
    edits.push(insertMember(scanned.closingAt, false, `"stream_options":{"include_usage":true}`));
  return edits.length === 1 ? edits : edits.sort((left, right) => left.start - right.start);
}

interface Edit extends Span {
  readonly bytes: Uint8Array;
}

/** Sets `include_usage` inside `stream_options`, keeping its other members; anything but an object is replaced. */
function forceUsage({ member, scanned }: StreamOptions): Edit[] {
  const offset = member.start;
  if (scanned.kind !== "object") return [{ start: offset, end: member.end, bytes: FORCED_OPTIONS }];
  if (scanned.members.length === 0) {
    return [insertMember(offset + scanned.closingAt, scanned.isEmpty, `"include_usage":true`)];
  }
  return scanned.members.map(({ start, end }) => ({ start: offset + start, end: offset + end, bytes: TRUE }));
}

function insertMember(closingAt: number, first: boolean, member: string): Edit {
  return { start: closingAt, end: closingAt, bytes: Buffer.from(first ? member : `,${member}`) };
}

function modelRequired(message: string): ProxyError {
  return new ProxyError("model_required", message, { param: "model" });
}
