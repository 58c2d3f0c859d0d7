import { ProxyError } from "#kernel/errors.ts";
import { type FormPart, readFormPart, readFormType, refuseForm } from "./form-part.ts";
import type { Span } from "./json-scan.ts";
import { scanInTurns } from "./paced-scan.ts";

/** What the data plane knows of a form: the two parts that it reads. All others, files among them, are never looked at. */
export interface ParsedForm {
  readonly body: Uint8Array;
  /** The public alias that the caller asked for; never empty. */
  readonly model: string;
  /** True only where the part's text is exactly `true`. */
  readonly stream: boolean;
  /** Where the value of `model` stands. */
  readonly modelAt: Span;
  /** The texts that may stand in the body as delimiters alone. */
  readonly delimiters: readonly Uint8Array[];
}

/** A form with more parts, or longer headers of one, is refused (specification of endpoints). */
export const FORM_PARTS_MAX = 1000;
export const PART_HEAD_BYTES_MAX = 16 * 1024;

const CRLF = Buffer.from("\r\n");
const BLANK_LINE = Buffer.from("\r\n\r\n");
const DASHES = Buffer.from("--");
const TRUE = "true";

/**
 * Reads a whole form (RFC 7578) whose content type is given, and finds the value of `model`. Throws `invalid_multipart` for
 * whatever two parsers could read differently in a way that matters to `model` or `stream`, and `model_required` (param
 * `model`) where no part `model` is, or an empty one. Nothing is copied.
 */
export function parseForm(body: Uint8Array, contentType: string | null): ParsedForm {
  const scan = new FormScan(body, contentType);
  return scan.run(Number.POSITIVE_INFINITY) ?? refuseForm("it has no end");
}

/** `parseForm` of a large body, in turns. */
export async function parseLargeForm(body: Uint8Array, contentType: string | null): Promise<ParsedForm> {
  return scanInTurns(new FormScan(body, contentType));
}

/**
 * The form that goes upstream, in pieces of the one that came: every byte stays but for the value of `model`, which becomes the
 * upstream model name.
 */
export function cutForm({ body, modelAt }: ParsedForm, upstreamName: Uint8Array): Uint8Array[] {
  return [body.subarray(0, modelAt.start), upstreamName, body.subarray(modelAt.end)];
}

/**
 * Throws `invalid_multipart` where the upstream name holds the form's delimiter, which the caller has chosen: it would end the
 * part. No delimiter can begin in the name and end behind it, since a name has no line end.
 */
export function refuseDelimiterIn({ delimiters, model }: ParsedForm, upstreamName: Uint8Array): void {
  if (delimiters.every((delimiter) => toBuffer(upstreamName).indexOf(delimiter) === -1)) return;
  throw new ProxyError(
    "invalid_multipart",
    "The form's boundary occurs in the name that the provider has for the model. Send it with another boundary.",
    { model },
  );
}

/** One form, scanned in parts. */
export class FormScan {
  readonly #body: Buffer;
  /** The texts that are searched for: the form's delimiter, and that of a parser that reads quotation marks as a part of it. */
  readonly #delimiters: readonly Buffer[];
  readonly #delimiter: Buffer;
  #at: number;
  /** The part whose end is searched; null before the first. */
  #part: FormPart | null = null;
  #valueAt: number;
  #partCount = 0;
  #model: Span | null = null;
  #stream: Span | null = null;

  constructor(body: Uint8Array, contentType: string | null) {
    const { boundary, quotedDelimiter } = readFormType(contentType);
    this.#body = toBuffer(body);
    this.#delimiter = Buffer.from(`--${boundary}`);
    this.#delimiters = [this.#delimiter, ...(quotedDelimiter === null ? [] : [Buffer.from(quotedDelimiter)])];
    if (!this.#standsAt(0, this.#delimiter)) refuseForm("it does not begin with its boundary");
    this.#at = this.#delimiter.length;
    this.#valueAt = 0;
    this.#openPart();
  }

  /** The offset that the scan has reached. */
  get at(): number {
    return this.#at;
  }

  /** Goes on to the end, or past `untilAt`: then null. The headers of a part are one step. */
  run(untilAt: number): ParsedForm | null {
    while (this.#at < untilAt) {
      const delimiterAt = this.#findDelimiter(untilAt);
      if (delimiterAt === null) continue;
      this.#closePart(delimiterAt);
      this.#at = delimiterAt + this.#delimiter.length;
      if (this.#standsAt(this.#at, DASHES)) return this.#finish(this.#at + DASHES.length);
      this.#openPart();
    }
    return null;
  }

  /** Where the next delimiter stands; null where there is none up to `untilAt`. */
  #findDelimiter(untilAt: number): number | null {
    const body = this.#body;
    const longest = Math.max(...this.#delimiters.map(({ length }) => length));
    const from = this.#at;
    // One that begins before `untilAt` may end behind it.
    const piece = body.subarray(from, Math.min(body.length, untilAt + longest - 1));
    let found = -1;
    for (const delimiter of this.#delimiters) {
      const at = piece.indexOf(delimiter);
      if (at === -1) continue;
      // A parser that takes the quotation marks for a part of the boundary would find a part of its own there.
      if (delimiter !== this.#delimiter) refuseForm("its boundary stands in a part");
      found = at;
    }
    if (found !== -1) return from + found;
    if (from + piece.length === body.length) refuseForm("it does not end with its boundary");
    this.#at = untilAt;
    return null;
  }

  /** The headers of the part whose delimiter ends at `#at`. */
  #openPart(): void {
    const body = this.#body;
    if (this.#partCount === FORM_PARTS_MAX) refuseForm(`it has more than ${FORM_PARTS_MAX} parts`);
    this.#partCount += 1;
    // Parsers take blanks behind a delimiter, or a longer text, each in its own way.
    if (!this.#standsAt(this.#at, CRLF)) refuseForm("its boundary stands in a part");
    const headAt = this.#at + CRLF.length;
    const head = body.subarray(headAt, headAt + PART_HEAD_BYTES_MAX);
    const length = head.indexOf(BLANK_LINE);
    if (length === -1)
      refuseForm(`the headers of a part have no end, or more than ${PART_HEAD_BYTES_MAX / 1024} KiB`);
    this.#part = readFormPart(head.toString("latin1", 0, length));
    this.#valueAt = headAt + length + BLANK_LINE.length;
    // A delimiter in the headers ends the part for parsers that search for it first.
    this.#at = headAt;
  }

  #closePart(delimiterAt: number): void {
    const end = delimiterAt - CRLF.length;
    // Behind a lone line feed, or within a line, it is a delimiter for some parsers and content for others.
    if (end < this.#valueAt || !this.#standsAt(end, CRLF)) refuseForm("its boundary stands in a part");
    const { field, lengthBytes } = this.#part ?? { field: null, lengthBytes: null };
    if (lengthBytes !== null && lengthBytes !== end - this.#valueAt)
      refuseForm("a part has another length than its content-length says");
    const value = { start: this.#valueAt, end };
    if (field === "model") {
      if (this.#model !== null) refuseForm("it has two parts model");
      this.#model = value;
    } else if (field === "stream") {
      if (this.#stream !== null) refuseForm("it has two parts stream");
      this.#stream = value;
    }
  }

  #finish(endAt: number): ParsedForm {
    const body = this.#body;
    if (endAt !== body.length && !(endAt + CRLF.length === body.length && this.#standsAt(endAt, CRLF)))
      refuseForm("something follows its end");
    const modelAt = this.#model;
    if (modelAt === null || modelAt.start === modelAt.end)
      throw new ProxyError("model_required", "The form must name a model: a part model that is not empty.", {
        param: "model",
      });
    const stream = this.#stream;
    return {
      body,
      model: body.toString("utf8", modelAt.start, modelAt.end),
      stream: stream !== null && body.toString("latin1", stream.start, stream.end) === TRUE,
      modelAt,
      delimiters: this.#delimiters,
    };
  }

  #standsAt(at: number, text: Buffer): boolean {
    return (
      this.#body.length >= at + text.length &&
      this.#body.compare(text, 0, text.length, at, at + text.length) === 0
    );
  }
}

/** A view of the same bytes. */
function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
