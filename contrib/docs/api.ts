/** Writes docs/api.md from what the OpenAPI document is made of: `npm run docs`. */
import { join } from "node:path";
import { ERROR_CONDITIONS } from "../../src/http/openapi/errors.ts";
import type { Route } from "../../src/http/door/route.ts";
import { listRoutes } from "../../src/http/local.ts";
import { toErrorCodes } from "../../src/http/openapi/refusals.ts";
import { ERROR_STATUS, type ErrorCode } from "../../src/kernel/errors.ts";

/** From the root of the repository. */
export const API_PAGE = "docs/api.md";

const INTRODUCTION = `# The interface

Every route, who may call it, what it answers and with which codes it refuses. The same with examples, as OpenAPI 3.1: \`GET /openapi.json\`, or \`lockport openapi\`.

Access is *public*, *caller* (an API key as \`Authorization: Bearer\` or \`x-api-key\`, or a browser's session), *admin* (the same of an admin) or *relay* (the relay token in the path). To the errors of each route come those that are the same everywhere:

- every route: \`invalid_host\`, \`host_not_allowed\`, and \`internal_error\` where something can fail;
- *caller* and *admin*: \`missing_api_key\`, \`invalid_api_key\`; *admin*: \`admin_required\`;
- with a session every method but GET, and \`POST /auth/password\` and \`POST /auth/login-link\` always: \`cross_origin_rejected\`, and \`invalid_json\` for a form.

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
  "cross_origin_rejected",
]);

export function toApiPage(): string {
  const shapes = new Map<string, string>();
  const routes = listRoutes().map((route) => [
    `\`${route.method} ${route.path}\``,
    route.access,
    toSuccess(route, shapes),
    toOwnCodes(route)
      .map((code) => `\`${code}\``)
      .join(", "),
  ]);
  const codes = Object.entries(ERROR_CONDITIONS).map(([code, condition]) => [
    `\`${code}\``,
    String(ERROR_STATUS[code as ErrorCode]),
    condition,
  ]);
  const fields = [...shapes].map(([title, shape]) => [`\`${title}\``, `\`${shape}\``]);
  return [
    INTRODUCTION,
    toTable(["Route", "Access", "Answer", "Errors"], routes),
    "## Shapes\n",
    "A field with `?` may be absent; `| null` is said where it is possible. Nothing has fields beyond these.\n",
    toTable(["Shape", "Fields"], fields),
    "## Error codes\n",
    toTable(["Code", "Status", "When"], codes),
  ].join("\n");
}

/** The codes that make a route differ from the others of its access. */
function toOwnCodes(route: Route): readonly ErrorCode[] {
  const { access, body, errors = [] } = route;
  const readsJson = access !== "relay" && body !== undefined;
  return toErrorCodes(route).filter((code) =>
    code === "invalid_json" ? readsJson : !EVERYWHERE.has(code) || errors.includes(code),
  );
}

function toSuccess({ answer, upstreamErrorHeaders }: Route, shapes: Map<string, string>): string {
  const { status, description, contents } = answer;
  const forms = contents.map(({ type, schema }) => {
    if (type !== "application/json") return `\`${type}\``;
    return schema["type"] === undefined && schema["anyOf"] === undefined
      ? "the upstream's JSON"
      : `\`${toShape(schema, shapes)}\``;
  });
  const success = contents.length === 0 ? `${status}, ${description}` : `${status} ${forms.join(" or ")}`;
  return upstreamErrorHeaders === undefined ? success : `${success}; else the upstream's own error`;
}

/** A shape in one line: its name where it has one, which is then kept in `shapes`. */
function toShape(schema: any, shapes: Map<string, string>): string {
  if (schema.title === undefined) return spell(schema, shapes);
  if (!shapes.has(schema.title)) {
    // Its place is taken before those of the shapes within it.
    shapes.set(schema.title, "");
    shapes.set(schema.title, spell(schema, shapes));
  }
  return schema.title;
}

function spell(schema: any, shapes: Map<string, string>): string {
  if (schema.enum !== undefined) return schema.enum.map((word: string) => JSON.stringify(word)).join(" \\| ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf !== undefined) return schema.anyOf.map((each: any) => toShape(each, shapes)).join(" \\| ");
  if (schema.type === "array") return `[${toShape(schema.items, shapes)}]`;
  if (schema.type !== "object") return schema.type ?? "any";
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const optional = schema.required?.includes(name) === true ? "" : "?";
    return `${name}${optional}: ${toShape(field, shapes)}`;
  });
  return fields.length === 0 ? "object" : `{${fields.join(", ")}}`;
}

function toTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, heading.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

if (import.meta.main) await Bun.write(join(import.meta.dir, "../..", API_PAGE), toApiPage());
