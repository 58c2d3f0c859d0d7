import { ProxyError } from "#kernel/errors.ts";

/** The parts of a form that are read. */
export type FormField = "model" | "stream";

/** The headers of one part, as far as they are looked at. */
export interface FormPart {
  /** Null for a part that is passed on unread. */
  readonly field: FormField | null;
  /** `Content-Length`, which some parsers believe more than the boundary. */
  readonly lengthBytes: number | null;
}

/** What a content type says of a form (RFC 7578, section 4.1). */
export interface FormType {
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
export function readFormType(contentType: string | null): FormType {
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
export function readFormPart(head: string): FormPart {
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
export function refuseForm(what: string): never {
  throw new ProxyError("invalid_multipart", `The request body is not a plain form: ${what}.`);
}
