/** Writes docs/api.md from what the OpenAPI document is made of: `npm run docs`. */
import { join } from "node:path";
import { ERROR_CONDITIONS, toErrorCodes } from "#http/openapi/document.ts";
import type { Route } from "../../src/http/door/route.ts";
import { listRoutes } from "../../src/http/local.ts";
import { ERROR_STATUS, type ErrorCode } from "../../src/kernel/errors.ts";

/** From the root of the repository. */
export const API_PAGE = "docs/api.md";

/** Codes that many routes have together, the largest group first. */
const GROUPS: ReadonlyMap<string, readonly ErrorCode[]> = new Map([
  [
    "model",
    [
      "invalid_json",
      "invalid_request",
      "request_too_large",
      "model_required",
      "model_not_found",
      "endpoint_not_supported",
      "limit_exceeded",
      "busy",
      "provider_unreachable",
    ],
  ],
  ["report", ["invalid_date", "invalid_outcome", "invalid_request", "range_too_large", "reports_busy"]],
  ["change", ["invalid_json", "invalid_request", "request_too_large", "too_many_changes"]],
  ["body", ["invalid_json", "invalid_request", "request_too_large"]],
]);

const INTRODUCTION = `# The interface

Every route, who may call it, what it answers and with which codes it refuses. The same with examples, as OpenAPI 3.1: \`GET /openapi.json\`, or \`lockport openapi\`.

Access is *public*, *caller* (an API key as \`Authorization: Bearer\` or \`x-api-key\`, or a browser's session), *admin* (the same of an admin) or *relay* (the relay token in the path). To the errors of each route come those that are the same everywhere:

- every route: \`invalid_host\`, \`host_not_allowed\`, and \`internal_error\` where something can fail;
- *caller* and *admin*: \`missing_api_key\`, \`invalid_api_key\`; *admin*: \`admin_required\`;
- *caller* and *admin* with a key whose \`scope\` is \`inference\`: \`scope_required\`, but not on the data plane, \`/my/limits\`, \`/my/usage\`, \`/my/requests\` and below them;
- with a session every method but GET, and \`POST /auth/password\` and \`POST /auth/login-link\` always: \`cross_origin_rejected\`, and \`invalid_json\` for a form.

Errors that come together have one name in the tables:

${toTable(
  ["Name", "Errors"],
  [...GROUPS].map(([name, codes]) => [`*${name}*`, spellCodes(codes)]),
)}
Paths with and without \`/v1\` that are one route share a row.

Every error, and every answer of the data plane and the relay, names its request in \`x-proxy-request-id\`: the \`id\` of its row in \`GET /admin/v1/requests\`, where it has one. An error's body says it too, as \`proxy.request_id\`, and on the data plane and the relay at the end of its message. On the relay an error also has \`"type": "error"\` at its top, as clients of the messages API expect.

This page is made from the declarations of the routes by \`npm run docs\`.
`;

const EVERYWHERE: ReadonlySet<ErrorCode> = new Set([
  "invalid_host",
  "host_not_allowed",
  "internal_error",
  "missing_api_key",
  "invalid_api_key",
  "admin_required",
  "scope_required",
  "cross_origin_rejected",
]);

export function toApiPage(): string {
  const shapes = new Shapes();
  const rows = new Map<string, { readonly names: string[]; readonly cells: readonly string[] }>();
  for (const route of listRoutes()) {
    const cells = [route.access, toSuccess(route, shapes), toErrors(toOwnCodes(route))];
    const key = JSON.stringify([route.method, route.path.replace(/^\/v1(?=\/)/, ""), ...cells]);
    const row = rows.get(key) ?? { names: [], cells };
    row.names.push(`\`${route.method} ${route.path}\``);
    rows.set(key, row);
  }
  const routes = [...rows.values()].map(({ names, cells }) => [names.join(", ")].concat(cells));
  const codes = Object.entries(ERROR_CONDITIONS).map(([code, condition]) => [
    `\`${code}\``,
    String(ERROR_STATUS[code as ErrorCode]),
    condition,
  ]);
  return [
    INTRODUCTION,
    toTable(["Route", "Access", "Answer", "Errors"], routes),
    "## Shapes\n",
    "A field with `?` may be absent; `| null` is said where it is possible. Nothing has fields beyond these. A shape that begins with `...` has all fields of the shape that it names. Words in capitals are those of the table below.\n",
    toTable(["Shape", "Fields"], shapes.list()),
    toTable(["Word", "Values"], shapes.listWords()),
    "## Error codes\n",
    toTable(["Code", "Status", "When"], codes),
  ].join("\n");
}

function toErrors(codes: readonly ErrorCode[]): string {
  let rest = codes;
  const names = [];
  for (const [name, group] of GROUPS) {
    if (!group.every((code) => rest.includes(code))) continue;
    names.push(`*${name}*`);
    rest = rest.filter((code) => !group.includes(code));
  }
  return [...names, ...rest.map((code) => `\`${code}\``)].join(", ");
}

function spellCodes(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `\`${code}\``).join(", ");
}

/** The codes that make a route differ from the others of its access. */
function toOwnCodes(route: Route): readonly ErrorCode[] {
  const { access, body, errors = [] } = route;
  const readsJson = access !== "relay" && body !== undefined;
  return toErrorCodes(route).filter((code) =>
    code === "invalid_json" ? readsJson : !EVERYWHERE.has(code) || errors.includes(code),
  );
}

function toSuccess({ answer, upstreamErrorHeaders }: Route, shapes: Shapes): string {
  const { status, description, contents } = answer;
  const forms = contents.map(({ type, schema }) => {
    if (type !== "application/json") return `\`${type}\``;
    return schema["type"] === undefined && schema["anyOf"] === undefined
      ? "the upstream's JSON"
      : `\`${shapes.toShape(schema)}\``;
  });
  const success = contents.length === 0 ? `${status}, ${description}` : `${status} ${forms.join(" or ")}`;
  return upstreamErrorHeaders === undefined ? success : `${success}; else the upstream's own error`;
}

const WORD_VALUES_MIN = 4;
const SHARED_FIELDS_MIN = 4;

/** The shapes that routes answer, each in one line, with what they share spelled once. */
class Shapes {
  readonly #fields = new Map<string, readonly string[] | string>();
  readonly #words = new Map<string, string>();

  list(): readonly (readonly string[])[] {
    return [...this.#fields].map(([title, fields]) => [
      `\`${title}\``,
      `\`${this.#spellFields(title, fields)}\``,
    ]);
  }

  listWords(): readonly (readonly string[])[] {
    return [...this.#words].map(([values, name]) => [`\`${name}\``, `\`${values}\``]);
  }

  /** Its name where it has one, which is then kept. */
  toShape(schema: any, field = ""): string {
    if (schema.title === undefined) return this.#spell(schema, field);
    if (!this.#fields.has(schema.title)) {
      // Its place is taken before those of the shapes within it.
      this.#fields.set(schema.title, "");
      this.#fields.set(
        schema.title,
        schema.type === "object" ? this.#listFields(schema) : this.#spell(schema, field),
      );
    }
    return schema.title;
  }

  /** The largest other shape whose fields it has, and its own. */
  #spellFields(title: string, fields: readonly string[] | string): string {
    if (typeof fields === "string") return fields;
    let base: readonly string[] = [];
    let name = "";
    for (const [other, theirs] of this.#fields) {
      if (other === title || typeof theirs === "string" || theirs.length < SHARED_FIELDS_MIN) continue;
      // The first of two shapes with the same fields is the base.
      const isBase =
        theirs.length < fields.length ||
        (theirs.length === fields.length && name === "" && isBefore(this.#fields, other, title));
      if (!isBase || theirs.length <= base.length || !theirs.every((each) => fields.includes(each))) continue;
      base = theirs;
      name = other;
    }
    const own = fields.filter((each) => !base.includes(each));
    return toBraces(name === "" ? own : [`...${name}`, ...own]);
  }

  #spell(schema: any, field: string): string {
    if (schema.enum !== undefined) return this.#spellValues(schema.enum, field);
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.anyOf !== undefined) {
      const consts = schema.anyOf.filter((each: any) => each.const !== undefined);
      const others = schema.anyOf.filter((each: any) => each.const === undefined);
      const words =
        consts.length === 0
          ? []
          : [
              this.#spellValues(
                consts.map((each: any) => each.const),
                field,
              ),
            ];
      return [...words, ...others.map((each: any) => this.toShape(each, field))].join(" \\| ");
    }
    if (schema.type === "array") return `[${this.toShape(schema.items, field)}]`;
    if (schema.type !== "object") return schema.type ?? "any";
    return toBraces(this.#listFields(schema));
  }

  #spellValues(values: readonly unknown[], field: string): string {
    const spelled = values.map((value) => JSON.stringify(value)).join(" \\| ");
    if (values.length < WORD_VALUES_MIN) return spelled;
    const known = this.#words.get(spelled);
    if (known !== undefined) return known;
    const plain = field.toUpperCase();
    const names = new Set(this.#words.values());
    const name =
      [plain, ...values.map((_, index) => `${plain}_${index + 2}`)].find((each) => !names.has(each)) ?? plain;
    this.#words.set(spelled, name);
    return name;
  }

  #listFields(schema: any): readonly string[] {
    const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const optional = schema.required?.includes(name) === true ? "" : "?";
      return `${name}${optional}: ${this.toShape(field, name)}`;
    });
    const codes = fields.every(
      (field) => /^\w+\?: integer$/.test(field) && field.slice(0, field.indexOf("?")) in ERROR_STATUS,
    );
    return codes && fields.length > 0 ? ["[code of an error]?: integer"] : fields;
  }
}

function isBefore(fields: ReadonlyMap<string, unknown>, one: string, other: string): boolean {
  const titles = [...fields.keys()];
  return titles.indexOf(one) < titles.indexOf(other);
}

function toBraces(fields: readonly string[]): string {
  return fields.length === 0 ? "object" : `{${fields.join(", ")}}`;
}

function toTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, heading.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

if (import.meta.main) await Bun.write(join(import.meta.dir, "../..", API_PAGE), toApiPage());
