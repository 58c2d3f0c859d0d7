import { describe, expect, test } from "bun:test";
import { checkOrigin } from "#identity/sessions.ts";
import { refusalOf } from "./support.ts";

describe("the origin of a mutation by session", () => {
  const OWN = "http://localhost:4000";
  const allowed: readonly (readonly [headers: Record<string, string>, own: string])[] = [
    [{}, OWN],
    [{ origin: OWN }, OWN],
    [{ origin: OWN, "sec-fetch-site": "same-origin" }, OWN],
    [{ "sec-fetch-site": "same-origin" }, OWN],
    [{ "sec-fetch-site": "none" }, OWN],
    [{ origin: "https://proxy.example" }, "https://proxy.example:443"],
    [{ origin: "http://proxy.example" }, "http://Proxy.Example:80"],
  ];
  test.each(allowed)("with %p at %p is our own and passes", (headers, own) => {
    checkOrigin(new Headers(headers), own);
  });

  const rejected: readonly (readonly [headers: Record<string, string>, own: string])[] = [
    [{ origin: "http://evil.example" }, OWN],
    [{ origin: "null" }, OWN],
    [{ origin: "" }, OWN],
    [{ origin: "https://localhost:4000" }, OWN],
    [{ origin: "http://localhost" }, OWN],
    [{ origin: "http://localhost:4001" }, OWN],
    [{ origin: "http://localhost:4000.evil.example" }, OWN],
    [{ origin: `${OWN}, ${OWN}` }, OWN],
    [{ origin: "file://" }, OWN],
    [{ origin: "null" }, "null"],
    [{ origin: "http://" }, "http://"],
    [{ "sec-fetch-site": "cross-site" }, OWN],
    [{ "sec-fetch-site": "same-site" }, OWN],
    [{ "sec-fetch-site": "" }, OWN],
    [{ origin: OWN, "sec-fetch-site": "cross-site" }, OWN],
    [{ origin: "http://evil.example", "sec-fetch-site": "same-origin" }, OWN],
    [{ origin: "http://evil.example", "sec-fetch-site": "none" }, OWN],
    [{ origin: "http://evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" }, OWN],
  ];
  test.each(rejected)("with %p at %p is cross_origin_rejected", async (headers, own) => {
    expect(await refusalOf(() => checkOrigin(new Headers(headers), own))).toBe("cross_origin_rejected");
  });
});
