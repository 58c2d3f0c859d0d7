import addFormats from "ajv-formats";
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import { listRoutes } from "#http/local.ts";
import { toOpenApiDocument } from "#http/openapi/document.ts";

/** Every route that a server has, as it declares itself. */
export const ROUTES = listRoutes();

/** The document as a reader of its JSON has it. */
export const openApi: any = JSON.parse(JSON.stringify(toOpenApiDocument(ROUTES)));

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema(openApi, "openapi");
const validators = new Map<string, ValidateFunction>();

/** The mistakes of a value by the schema at `steps` of the document; none when all is well. */
export function findFaults(value: unknown, ...steps: readonly string[]): readonly string[] {
  const pointer = steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  let validate = validators.get(pointer);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `openapi#${encodeURI(pointer)}` });
    validators.set(pointer, validate);
  }
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(" "),
  );
}
