/** Forms that parsers read differently, told as texts: `\r\n` is every line end that is not written otherwise. */
export interface HostileForm {
  readonly what: string;
  readonly contentType?: string;
  /** Latin-1. */
  readonly body: string;
  /**
   * Who takes `dear`, or a file, for `model`, run by hand: mime/multipart of Go 1.26, python-multipart 0.0.34, Werkzeug 3.1,
   * Django 5.2, multipart 2.0, `email` of Python 3.11, `formData` of Node 20 (undici) and of Bun 1.4, and busboy 1.6. Empty:
   * none of these, but PHP, Rack, qs or a pattern could.
   */
  readonly readers?: string;
}

export const BOUNDARY = "----form-0123456789";
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nbytes';
const CHEAP = 'Content-Disposition: form-data; name="model"\r\n\r\ncheap';

export function toForm(...parts: readonly string[]): string {
  return `${parts.map((part) => `--${BOUNDARY}\r\n${part}\r\n`).join("")}--${BOUNDARY}--\r\n`;
}

/** A part that some parser may take for `model`, before and behind the plain one. */
function besides(what: string, readers: string, part: string): HostileForm[] {
  return [
    { what: `${what}, before model`, readers, body: toForm(part, CHEAP, FILE) },
    { what: `${what}, behind model`, readers, body: toForm(FILE, CHEAP, part) },
    { what: `${what}, alone`, readers, body: toForm(FILE, part) },
  ];
}

function named(parameters: string): string {
  return `Content-Disposition: form-data; ${parameters}\r\n\r\ndear`;
}

export const HOSTILE_FORMS: readonly HostileForm[] = [
  ...besides("a second model", "all", named('name="model"')).slice(0, 2),
  ...besides("capitals", "", named('name="Model"')),
  ...besides("brackets", "", named('name="model[]"')),
  ...besides("an index", "", named('name="model[0]"')),
  ...besides("brackets around", "", named('name="[model]"')),
  ...besides("a member", "", named('name="model.name"')),
  ...besides("a blank behind", "django", named('name="model "')),
  ...besides("a blank before", "django", named('name=" model"')),
  ...besides("a NUL behind", "bun", named('name="model\0"')),
  ...besides("a line end as percent escape", "", named('name="model%0A"')),
  ...besides("a percent escape", "", named('name="%6dodel"')),
  ...besides("a backslash escape", "werkzeug", named('name="mo\\del"')),
  ...besides("an encoded word", "", named('name="=?utf-8?q?model?="')),
  ...besides("an extended name", "go werkzeug django email", named("name*=utf-8''model")),
  ...besides("an extended name beside", "go werkzeug django", named("name=\"x\"; name*=utf-8''model")),
  ...besides("a name in pieces", "go werkzeug django email", named('name*0="mo"; name*1="del"')),
  ...besides("two names", "python-multipart werkzeug django multipart bun", named('name="x"; name="model"')),
  ...besides("two names the other way", "email busboy", named('name="model"; name="x"')),
  ...besides(
    "a parameter in capitals",
    "go python-multipart werkzeug django multipart email busboy bun",
    named('NAME="model"'),
  ),
  ...besides(
    "a blank before the equals sign",
    "go python-multipart django multipart email bun",
    named('name ="model"'),
  ),
  ...besides(
    "a blank behind the equals sign",
    "go python-multipart django multipart email",
    named('name= "model"'),
  ),
  ...besides(
    "a tab before the name",
    "go python-multipart werkzeug django email busboy bun",
    named('\tname="model"'),
  ),
  ...besides("single quotes", "", named("name='model'")),
  ...besides("a quote that is not closed", "bun", named('name="model')),
  ...besides("text behind the quote", "werkzeug multipart bun", named('name="model"x')),
  ...besides("a semicolon in the name", "", named('name="x;name=model"')),
  ...besides("a parameter in a file's name", "", named('name="file"; filename="x name=model"')),
  ...besides(
    "a parameter in quotes in a file's name",
    "",
    named('name="file"; filename="x\\"; name=\\"model"'),
  ),
  ...besides("a file's name that ends with a backslash", "", named('name="x"; filename="a\\"; name="model"')),
  ...besides(
    "a file's name before that ends with a backslash",
    "go werkzeug multipart busboy",
    named('filename="a\\\\"; name="model"'),
  ),
  ...besides("a filename", "all", named('name="model"; filename="a"')),
  ...besides("an empty filename", "all", named('name="model"; filename=""')),
  ...besides(
    "an extended filename",
    "go python-multipart werkzeug django multipart email busboy bun",
    named("name=\"model\"; filename*=utf-8''a"),
  ),
  ...besides(
    "an unknown parameter",
    "go python-multipart werkzeug django multipart email busboy bun",
    named('name="model"; size=4'),
  ),
  ...besides("no name", "", named('filename="a"')),
  ...besides("an empty name", "", named('name=""')),
  ...besides(
    "another kind of part",
    "python-multipart werkzeug django email",
    'Content-Disposition: attachment; name="model"\r\n\r\ndear',
  ),
  ...besides(
    "a kind in capitals",
    "go python-multipart werkzeug django multipart email busboy bun",
    'Content-Disposition: Form-Data; name="model"\r\n\r\ndear',
  ),
  ...besides("no kind", "email bun", 'Content-Disposition: name="model"\r\n\r\ndear'),
  ...besides("no disposition", "", "Content-Type: text/plain\r\n\r\ndear"),
  ...besides("no headers", "", "\r\ndear"),
  ...besides(
    "two dispositions",
    "python-multipart django multipart undici bun",
    'Content-Disposition: form-data; name="x"\r\nContent-Disposition: form-data; name="model"\r\n\r\ndear',
  ),
  ...besides(
    "a folded header",
    "go werkzeug multipart email busboy",
    'Content-Disposition: form-data;\r\n name="model"\r\n\r\ndear',
  ),
  ...besides(
    "a header folded with a tab",
    "go werkzeug multipart email busboy",
    'Content-Disposition: form-data;\r\n\tname="model"\r\n\r\ndear',
  ),
  ...besides(
    "a blank before the colon",
    "werkzeug multipart undici",
    'Content-Disposition : form-data; name="model"\r\n\r\ndear',
  ),
  ...besides(
    "a blank before the header",
    "werkzeug django undici",
    ' Content-Disposition: form-data; name="model"\r\n\r\ndear',
  ),
  ...besides("line feeds alone", "go werkzeug email", 'Content-Disposition: form-data; name="model"\n\ndear'),
  ...besides(
    "a line feed within a header",
    "python-multipart django multipart bun",
    'Content-Disposition: form-data; name="x"\nContent-Disposition: form-data; name="model"\r\n\r\ndear',
  ),
  ...besides(
    "a carriage return within a header",
    "django multipart bun",
    'Content-Disposition: form-data; name="x"\rContent-Disposition: form-data; name="model"\r\n\r\ndear',
  ),
  ...besides(
    "base64",
    "django email undici",
    'Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: base64\r\n\r\nZGVhcg==',
  ),
  ...besides(
    "quoted-printable",
    "go email",
    'Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=64ear',
  ),
  ...besides(
    "a charset",
    "multipart busboy",
    'Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=utf-16le\r\n\r\nd\0e\0a\0r\0',
  ),
  ...besides(
    "a model that is no text",
    "all",
    'Content-Disposition: form-data; name="model"\r\nContent-Type: application/octet-stream\r\n\r\ndear',
  ),
  ...besides("a charset for all parts", "", named('name="_charset_"')),
  ...besides(
    "a part of parts",
    "email",
    'Content-Disposition: form-data; name="x"\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n--in\r\nContent-Disposition: form-data; name="model"\r\n\r\ndear\r\n--in--',
  ),
  ...besides(
    "a length that is too long",
    "go python-multipart werkzeug django email undici busboy bun",
    'Content-Disposition: form-data; name="model"\r\nContent-Length: 9\r\n\r\ndear',
  ),
  { what: "a preamble", body: `x\r\n${toForm(CHEAP)}` },
  { what: "an empty line before it", body: `\r\n${toForm(CHEAP)}` },
  { what: "an epilogue", body: `${toForm(CHEAP)}x` },
  {
    what: "an epilogue with a part",
    readers: "django bun",
    body: toForm(CHEAP) + toForm(named('name="model"')),
  },
  { what: "no last boundary", body: `--${BOUNDARY}\r\n${CHEAP}\r\n` },
  { what: "a last boundary that is cut", body: `--${BOUNDARY}\r\n${CHEAP}\r\n--${BOUNDARY}-` },
  { what: "no boundary at all", body: CHEAP },
  { what: "an empty body", body: "" },
  { what: "a form without a part", body: `--${BOUNDARY}--\r\n` },
  {
    what: "a delimiter behind a line feed",
    readers: "werkzeug django email",
    body: toForm(CHEAP, `${FILE}\n--${BOUNDARY}\n${named('name="model"')}`),
  },
  {
    what: "a delimiter behind a line feed, with carriage returns",
    readers: "werkzeug django email bun",
    body: toForm(CHEAP, `${FILE}\n--${BOUNDARY}\r\n${named('name="model"')}`),
  },
  {
    what: "a delimiter behind a carriage return",
    readers: "werkzeug django email bun",
    body: toForm(CHEAP, `${FILE}\r--${BOUNDARY}\r\n${named('name="model"')}`),
  },
  {
    what: "a delimiter within a line",
    readers: "django bun",
    body: toForm(CHEAP, `${FILE}--${BOUNDARY}\r\n${named('name="model"')}`),
  },
  {
    what: "a delimiter with a blank behind it",
    readers: "go python-multipart werkzeug django email",
    body: toForm(CHEAP, `${FILE}\r\n--${BOUNDARY} \r\n${named('name="model"')}`),
  },
  {
    what: "a delimiter that goes on",
    readers: "django",
    body: toForm(CHEAP, `${FILE}\r\n--${BOUNDARY}1\r\n${named('name="model"')}`),
  },
  {
    what: "a delimiter that ends with a line feed",
    readers: "werkzeug django email",
    body: toForm(CHEAP, `${FILE}\r\n--${BOUNDARY}\n${named('name="model"')}`),
  },
  {
    what: "a last delimiter before the end",
    readers: "django email bun",
    body: toForm(CHEAP, `${FILE}\r\n--${BOUNDARY}--x\r\n--${BOUNDARY}\r\n${named('name="model"')}`),
  },
  {
    what: "a delimiter in a header",
    body: toForm(CHEAP, `X: --${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\nbytes`),
  },
  {
    what: "a delimiter right behind the headers",
    body: `--${BOUNDARY}\r\nContent-Disposition: form-data; name="x"\r\n\r\n--${BOUNDARY}\r\n${CHEAP}\r\n--${BOUNDARY}--\r\n`,
  },
  {
    what: "a delimiter of a parser that keeps the quotation marks",
    contentType: `multipart/form-data; boundary="${BOUNDARY}"`,
    body: toForm(CHEAP, `${FILE}\r\n--"${BOUNDARY}"\r\n${named('name="model"')}`),
  },
  ...[
    null,
    "",
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/mixed; boundary=a",
    "multipart/form-data",
    "multipart/form-data; boundary=",
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${BOUNDARY}; boundary=x`,
    `multipart/form-data; boundary=x, multipart/form-data; boundary=${BOUNDARY}`,
    `multipart/form-data; Boundary=${BOUNDARY}`,
    `multipart/form-data; boundary*=utf-8''${BOUNDARY}`,
    `multipart/form-data; boundary="${BOUNDARY}`,
    `multipart/form-data; boundary="\\${BOUNDARY}"`,
    `multipart/form-data; boundary="${BOUNDARY} "`,
    `multipart/form-data; boundary = ${BOUNDARY}`,
    `multipart/form-data boundary=${BOUNDARY}`,
    `multipart/form-data; charset=utf-16; boundary=${BOUNDARY}`,
    `multipart/form-data; boundary=${"a".repeat(71)}`,
    `multipart/form-data; boundary=a;b=`,
  ].map((contentType) => ({
    what: `the content type ${contentType}`,
    contentType: contentType ?? "",
    body: toForm(CHEAP),
  })),
];
