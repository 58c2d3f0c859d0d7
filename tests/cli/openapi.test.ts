import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listRoutes } from "#http/local.ts";
import { toOpenApiDocument } from "#http/openapi/document.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

test("lockport openapi prints the document and makes no data folder", async () => {
  const folder = makeFolder();
  try {
    const dataDir = join(folder.path, "data");
    const { code, data, messages } = await runLocal(dataDir, ["openapi"]);
    expect({ code, messages }).toEqual({ code: 0, messages: "" });
    expect(JSON.parse(data)).toEqual(JSON.parse(JSON.stringify(toOpenApiDocument(listRoutes()))));
    expect(existsSync(dataDir)).toBe(false);
  } finally {
    folder.remove();
  }
});
