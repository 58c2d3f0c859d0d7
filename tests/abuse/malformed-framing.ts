import { chunked, CRLF, END, hidden, show, toBytes, withEach, type Malformed } from "./malformed-request.ts";

const CODINGS = [
  "chunked",
  "Chunked",
  "CHUNKED",
  "chunked ",
  "\tchunked",
  "xchunked",
  "chunkedx",
  "identity",
  "identity, chunked",
  "chunked, identity",
  "chunked, chunked",
  "gzip, chunked",
  "chunked;q=1",
  '"chunked"',
  ", chunked",
  "chunked,",
  "chunked\u000b",
  "\u000bchunked",
  "chunked\u0000",
  "chu\u0000nked",
  "",
  " ",
  "chunked\u00a0",
] as const;
const CODING_NAMES = [
  "Transfer-Encoding ",
  "Transfer-Encoding\t",
  " Transfer-Encoding",
  "\tTransfer-Encoding",
  "Transfer_Encoding",
  "Transfer-Encoding\u0000",
  "Transfer-Encoding\u000b",
  "X: y\nTransfer-Encoding",
  "X: y\rTransfer-Encoding",
  "X: y\r\n Transfer-Encoding",
  "transfer-encoding",
  "\u00a0Transfer-Encoding",
] as const;

/** Two ways to tell where a body ends. */
const codings = [
  ...withEach(CODINGS, (coding) => [
    `a transfer coding ${show(coding)} beside a length`,
    toBytes({
      lines: [`Transfer-Encoding: ${coding}`, `Content-Length: ${(END + hidden).length}`],
      body: END + hidden,
    }),
  ]),
  ...withEach(CODINGS, (coding) => [
    `a length before a transfer coding ${show(coding)}`,
    toBytes({
      lines: ["Content-Length: 4", `Transfer-Encoding: ${coding}`],
      body: `${hidden.length.toString(16)}${CRLF}${hidden}${END}`,
    }),
  ]),
  ...withEach(CODINGS, (coding) => [
    `a transfer coding ${show(coding)} alone`,
    toBytes({ lines: [`Transfer-Encoding: ${coding}`], body: END + hidden }),
  ]),
  ...withEach(CODING_NAMES, (name) => [
    `a transfer coding named ${show(name)} beside a length`,
    toBytes({ lines: [`Content-Length: ${(END + hidden).length}`, `${name}: chunked`], body: END + hidden }),
  ]),
  ...withEach(["chunked", "identity"] as const, (second) => [
    `two transfer codings, the second ${second}`,
    chunked(END + hidden, `Transfer-Encoding: ${second}`),
  ]),
  ...withEach(["HTTP/1.0", "HTTP/1.1"] as const, (version) => [
    `a transfer coding in ${version}`,
    toBytes({ version, lines: ["Transfer-Encoding: chunked", "Content-Length: 3"], body: END + hidden }),
  ]),
];

const LENGTHS = [
  "+3",
  "-0",
  "-3",
  "0x3",
  "3,3",
  "3, 4",
  "3 3",
  "03",
  "3;",
  "3.0",
  "3e0",
  "",
  " ",
  "three",
  '"3"',
  "3\u000b",
  "3\u0000",
  "1_0",
  "\u0663",
  "99999999999999999999",
  "18446744073709551619",
  "4294967299",
  "9007199254740993",
  "3\r\n ",
  "3\r\n 4",
] as const;
const lengths = [
  ...withEach(LENGTHS, (length) => [
    `a length of ${show(length)}`,
    toBytes({ lines: [`Content-Length: ${length}`], body: `{} ${hidden}` }),
  ]),
  ...withEach(
    [
      ["3", "3"],
      ["3", "0"],
      ["0", "3"],
      ["3", "x"],
    ] as const,
    ([one, other]) => [
      `lengths of ${one} and ${other}`,
      toBytes({ lines: [`Content-Length: ${one}`, `Content-Length: ${other}`], body: `{} ${hidden}` }),
    ],
  ),
  ...withEach(
    [
      "Content-Length ",
      "Content-Length\t",
      " Content-Length",
      "Content_Length",
      "Content-Length\u0000",
      "X: y\nContent-Length",
    ] as const,
    (name) => [
      `a length named ${show(name)}`,
      toBytes({ lines: [`${name}: ${hidden.length}`], body: hidden }),
    ],
  ),
];

const SIZES = [
  "3;a=b",
  "3 ",
  " 3",
  "3\t",
  "03",
  "0x3",
  "+3",
  "-3",
  "3;",
  '3;a="\r\n"',
  "3;\n",
  "",
  "g",
  "3\r",
  "3,",
  "3_0",
  "FFFFFFFFFFFFFFFF",
  "10000000000000003",
  "7FFFFFFFFFFFFFFF",
  `${"0".repeat(300)}3`,
  `3;${"x".repeat(20_000)}`,
  "3\u0000",
] as const;
const chunks = [
  ...withEach(SIZES, (size) => [
    `a chunk of the size ${show(size)}`,
    chunked(`${size}${CRLF}{} ${CRLF}${END}${hidden}`),
  ]),
  ...withEach(
    [
      ["a chunk that is longer than it says", `3${CRLF}{}  ${CRLF}${END}${hidden}`],
      ["a chunk that is shorter than it says", `5${CRLF}{} ${CRLF}${END}${hidden}`],
      ["a chunk without a line end", `3${CRLF}{} ${END}${hidden}`],
      ["a chunk that ends with LF", `3${CRLF}{} \n${END}${hidden}`],
      ["a size that ends with LF", `3\n{} ${CRLF}${END}${hidden}`],
      ["a last chunk that ends with LF", `0\n\n${hidden}`],
      ["a last chunk of many zeros", `${"0".repeat(100)}${CRLF}${CRLF}${hidden}`],
      ["a trailer that tells a length", `0${CRLF}Content-Length: ${hidden.length}${CRLF}${CRLF}${hidden}`],
      ["a trailer that tells a coding", `0${CRLF}Transfer-Encoding: chunked${CRLF}${CRLF}${hidden}`],
      ["a trailer with a key", `0${CRLF}Authorization: Bearer lp_x${CRLF}${CRLF}${hidden}`],
      ["a trailer without a colon", `0${CRLF}trailer${CRLF}${CRLF}${hidden}`],
      ["a trailer that ends with LF", `0${CRLF}a: b\n${CRLF}${hidden}`],
      ["a trailer of 100 KB", `0${CRLF}a: ${"x".repeat(100_000)}${CRLF}${CRLF}${hidden}`],
      ["a thousand chunks of one byte", `1${CRLF}x${CRLF}`.repeat(1_000) + END + hidden],
    ] as const,
    ([name, body]) => [name, chunked(body)],
  ),
];

/** Of which it is not clear where they end. */
export const FRAMING: readonly Malformed[] = [...codings, ...lengths, ...chunks];
