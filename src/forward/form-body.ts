import { ProxyError } from "#kernel/errors.ts";
import type { Span } from "./json-scan.ts";
import { scanInTurns } from "./paced-scan.ts";

/** The two parts of a form that the data plane reads. All others, files among them, are never looked at. */
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

/** The parts of a form that are read. */
type FormField = "model" | "stream";

/** The headers of one part, as far as they are looked at. */
interface FormPart {
  /** Null for a part that is passed on unread. */
  readonly field: FormField | null;
  /** `Content-Length`, which some parsers believe more than the boundary. */
  readonly lengthBytes: number | null;
}

/** The content type of a form (RFC 7578, section 4.1). */
interface FormType {
  readonly boundary: string;
  /** The delimiter of a parser that takes the quotation marks for a part of the boundary; null without them. */
  readonly quotedDelimiter: string | null;
}

/** RFC 2046, section 5.1.1, without the blank, of which parsers strip some. Those that end a token stand in quotation marks alone. */
const BOUNDARY = /^(?:[A-Za-z0-9'+_.-]{1,70}|"[A-Za-z0-9'()+_,./:=?-]{1,70}")$/;
const CONTENT_TYPE = /^multipart\/form-data *((?:; *[a-z]+=(?:"[^"\\]*"|[^\s;",=]+) *)*)$/i;
const TYPE_PARAMETER = /; *([A-Za-z]+)=("[^"]*"|[^\s;]+)/g;
const UTF_8 = /^"?utf-8"?$/i;

/**
 * Reads the boundary. Throws `invalid_multipart` for anything but a form with one boundary that is written plainly: a parser
 * that finds another one in the header reads another form.
 */
function readFormType(contentType: string | null): FormType {
  const [, parameters] = CONTENT_TYPE.exec(contentType ?? "") ?? [];
  if (parameters === undefined) refuseForm("its content type must be multipart/form-data with a boundary");
  let written: string | null = null;
  for (const [, name = "", value = ""] of parameters.matchAll(TYPE_PARAMETER)) {
    if (name === "charset" && UTF_8.test(value)) continue;
    if (name !== "boundary" || written !== null || !BOUNDARY.test(value))
      refuseForm("its content type must have one boundary, and no charset but UTF-8");
    written = value;
  }
  if (written === null) refuseForm("its content type has no boundary");
  const isQuoted = written.startsWith('"');
  const boundary = isQuoted ? written.slice(1, -1) : written;
  return { boundary, quotedDelimiter: isQuoted ? `--"${boundary}` : null };
}

/** Names of parts as vendors have them (`image[]`, `chunking_strategy[type]`). Nothing in it is an escape of any kind. */
const PLAIN_NAME = /^[A-Za-z0-9_.:[\]-]+$/;
/** Its first word: parsers of PHP, Ruby and Node read `model[]` and `[model]` as `model`. */
const FIRST_WORD = /[a-z0-9_-]+/;
/** It sets the charset of all parts (RFC 7578, section 4.6). */
const CHARSET_NAME = "_charset_";

/** Without a blank at its end, which some parsers keep. */
const HEADER = /^([A-Za-z0-9-]+): *([^ ](?:.*[^ ])?)?$/;
const WITHOUT_CONTROLS = /^[ -~\x80-\xff]*$/;
/** Only these parameters, as all clients write them: one that is spelled otherwise is read by some parsers and not by others. */
const DISPOSITION_PARAMETER =
  /; *(?:(name)=(?:"([^"]*)"|([^\s;"=]+))|(filename)=(?:"((?:[^"\\]|\\.)*)"|[^\s;"=\\]+)|(filename\*)=[^\s;"=\\]+)/gy;
/** In a file's name: patterns that look for the parameter anywhere in the header find it there. */
const NAME_PARAMETER = /name[ *0-9]*=/i;
const ESCAPED_QUOTE = '\\"';
const PLAIN_ENCODING = /^(?:7bit|8bit|binary)$/i;
const PLAIN_TEXT = /^text\/plain *(?:; *charset="?(?:utf-8|us-ascii|iso-8859-1)"?)?$/i;
const NESTED = /^(?:multipart|message)\//i;

/**
 * Reads the headers of a part, without the empty line that ends them, as Latin-1. Throws `invalid_multipart` for whatever one
 * parser could read as `model` or `stream` and another could not.
 */
function readFormPart(head: string): FormPart {
  const headers = new Map<string, string>();
  for (const line of head.split("\r\n")) {
    const [, name, value = ""] = HEADER.exec(line) ?? [];
    // A line that begins with a blank goes on with the one before, where that is known (RFC 5322, section 2.2.3).
    if (name === undefined || !WITHOUT_CONTROLS.test(line)) refuseForm("a part has a header that is none");
    if (headers.has(name.toLowerCase())) refuseForm("a part has a header twice");
    headers.set(name.toLowerCase(), value);
  }
  const { name, hasFilename } = readDisposition(headers.get("content-disposition"));
  const contentType = headers.get("content-type");
  // Parsers of mail go on into it, and find parts of their own there.
  if (contentType !== undefined && NESTED.test(contentType)) refuseForm("a part holds further parts");
  const field = toField(name);
  if (field !== null) {
    if (hasFilename) refuseForm(`${field} is a file`);
    if (!PLAIN_ENCODING.test(headers.get("content-transfer-encoding") ?? "binary"))
      refuseForm(`${field} is encoded`);
    // Busboy takes application/octet-stream for a file, and decodes by the charset.
    if (!PLAIN_TEXT.test(contentType ?? "text/plain")) refuseForm(`${field} is not plain text`);
  }
  return { field, lengthBytes: toLength(headers.get("content-length")) };
}

function readDisposition(disposition: string | undefined): { name: string; hasFilename: boolean } {
  const kind = "form-data";
  // Some parsers read a part of another kind, or without one, and some do not.
  if (disposition?.startsWith(kind) !== true) refuseForm("a part is no form-data");
  let name: string | null = null;
  const seen = new Set<string>();
  let at = kind.length;
  DISPOSITION_PARAMETER.lastIndex = at;
  for (const found of disposition.matchAll(DISPOSITION_PARAMETER)) {
    const [text, isName, quoted, token, isFilename, filename = "", isExtended] = found;
    const parameter = isName ?? isFilename ?? isExtended ?? "";
    if (seen.has(parameter)) refuseForm("a part has a parameter twice");
    seen.add(parameter);
    if (isName !== undefined) name = quoted ?? token ?? null;
    if (NAME_PARAMETER.test(filename)) refuseForm("a file's name looks like the name of a part");
    at += text.length;
  }
  if (at !== disposition.length) refuseForm("a part's name is not written plainly");
  // Where a backslash escapes nothing, the text behind it goes on outside of the quotation marks.
  const escapedAt = disposition.indexOf(ESCAPED_QUOTE);
  if (escapedAt !== -1 && disposition.includes(";", escapedAt))
    refuseForm("a file's name has a backslash before a quotation mark");
  if (name === null || !PLAIN_NAME.test(name)) refuseForm("a part's name is not written plainly");
  return { name, hasFilename: seen.size > 1 };
}

/** Throws `invalid_multipart` for a name that some parsers read as that of a field. */
function toField(name: string): FormField | null {
  if (name === "model" || name === "stream") return name;
  const folded = name.toLowerCase();
  const [word] = FIRST_WORD.exec(folded) ?? [];
  if (word === "model" || word === "stream")
    refuseForm(`a part has a name that some providers read as ${word}; write it as ${word}, or leave it out`);
  if (folded === CHARSET_NAME) refuseForm("it sets a charset for its parts");
  return null;
}

function toLength(written: string | undefined): number | null {
  if (written === undefined) return null;
  if (!/^[0-9]{1,15}$/.test(written)) refuseForm("a part's content-length is no number");
  return Number(written);
}

/** Throws `invalid_multipart`. Says what is wrong, never with which characters: the body is content. */
function refuseForm(what: string): never {
  throw new ProxyError("invalid_multipart", `The request body is not a plain form: ${what}.`);
}
