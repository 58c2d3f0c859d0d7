import { describe, expect, test } from "bun:test";
import { negotiateFormat } from "#http/door/negotiation.ts";

const negotiate = (accept: string | null) => negotiateFormat(new Headers(accept === null ? {} : { accept }));

describe("the Accept header of a report that comes as JSON or as CSV", () => {
  test.each([
    ["text/csv", "csv"],
    ["TEXT/CSV", "csv"],
    ["text/csv; charset=utf-8; header=present", "csv"],
    ["text/csv;q=0.001", "csv"],
    ["text/csv; header=present; q=0.5, application/json;q=0.4", "csv"],
    ["application/json;q=0.5, text/csv", "csv"],
    ["application/json;q=0, */*", "csv"],
    ["text/csv, application/json", "csv"],
    ["text/csv, */*", "csv"],
    ["text/csv, */*;q=0.1", "csv"],
    ["text/*", "csv"],
    ["text/html, text/*;q=0.5, application/json;q=0.4", "csv"],
    ["image/png, text/csv", "csv"],
  ])("%s asks for CSV", (accept) => {
    expect(negotiate(accept)).toBe("csv");
  });

  test.each([
    [null],
    [""],
    ["*/*"],
    ["application/json"],
    ["application/json, text/csv"],
    ["*/*, text/csv"],
    ["application/*, text/*"],
    ["text/csv;q=0"],
    ["text/csv;q=0.000"],
    ["text/csv;q=0, */*"],
    ["text/csv;q=0, text/*"],
    ["text/csv;q=0.5, application/json;q=0.9"],
    ["text/csv;q=0.5, */*"],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
    ["image/png"],
    ["text/csv;q=2"],
    ["text/csv;q=-1"],
    ["text/csv;q=0.1234"],
    ["text/csv;q="],
    [",;,;q=1,text"],
    ["text/csvx"],
  ])("%s never gets CSV", (accept) => {
    expect(negotiate(accept)).toBe("json");
  });
});
