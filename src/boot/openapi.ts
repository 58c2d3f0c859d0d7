import { listRoutes } from "#http/local.ts";
import { toOpenApiDocument } from "#http/openapi/document.ts";

/** The document as text that ends with a line break, for a command that needs neither a server nor a data folder. */
export function toOpenApiText(): string {
  return `${JSON.stringify(toOpenApiDocument(listRoutes()), null, 2)}\n`;
}
