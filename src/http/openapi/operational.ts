import { Type } from "@sinclair/typebox";
import { fields } from "#http/schemas/shared.ts";
import { json, type Operation } from "./operation.ts";

const Document = Type.Object({}, { additionalProperties: true, description: "An OpenAPI 3.1 document." });

/** Specification, section 4.1: what is open to anybody. */
export const operationalOperations: readonly Operation[] = [
  {
    ...open("/healthz", "Whether the server serves"),
    answers: [json(200, fields({ status: Type.Literal("ok") }), { status: "ok" })],
    infallible: true,
  },
  {
    ...open("/metrics", "Metrics of the process, in text format 0.0.4"),
    answers: [
      {
        status: 200,
        description: "Metrics.",
        contents: [{ type: "text/plain", schema: Type.String() }],
      },
    ],
  },
  {
    ...open("/openapi.json", "This document"),
    answers: [
      {
        status: 200,
        description: "The document.",
        contents: [{ type: "application/json", schema: Document }],
      },
    ],
    infallible: true,
  },
  {
    ...open("/*", "The web page"),
    description:
      "Also at every other path outside of the interface's own, except under `/assets/`: there the page's own files lie, and one that does not exist is 404 as plain text.",
    answers: [
      { status: 200, description: "The page.", contents: [{ type: "text/html", schema: Type.String() }] },
    ],
    errors: ["unknown_endpoint"],
    infallible: true,
  },
];

function open(path: string, summary: string) {
  return { method: "GET", path, access: "public", tag: "Operation", summary } as const;
}
