import { afterEach, describe, expect, test } from "bun:test";
import { MESSAGE, startRelay, stopRelays } from "./relay-harness.ts";
import { CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);
afterEach(stopRelays);

/** Known response headers that say something of the answer, or nothing that matters here. One that is added is a decision. */
const PASSED = [
  "accept",
  "accept-patch",
  "accept-post",
  "accept-ranges",
  "age",
  "allow",
  "anthropic-organization-id",
  "anthropic-ratelimit-requests-remaining",
  "apim-request-id",
  "cache-control",
  "cf-cache-status",
  "cf-ray",
  "content-disposition",
  "content-digest",
  "content-language",
  "content-range",
  "deprecation",
  "digest",
  "etag",
  "expires",
  "last-modified",
  "openai-model",
  "openai-organization",
  "openai-processing-ms",
  "openai-version",
  "pragma",
  "priority",
  "ratelimit-limit",
  "ratelimit-policy",
  "referrer-policy",
  "request-id",
  "retry-after",
  "server",
  "server-timing",
  "sunset",
  "traceparent",
  "vary",
  "via",
  "warning",
  "x-cache",
  "x-content-digest",
  "x-groq-region",
  "x-inference-time",
  "x-ms-region",
  "x-powered-by",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
  "x-request-id",
  "x-should-retry",
];

/** Known response headers that belong to one connection, or would act on our origin or on a proxy in front. */
const DROPPED = [
  "accept-ch",
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-allow-private-network",
  "access-control-expose-headers",
  "access-control-max-age",
  "activate-storage-access",
  "alt-svc",
  "attribution-reporting-register-source",
  "attribution-reporting-register-trigger",
  "attribution-reporting-support",
  "available-dictionary",
  "cdn-cache-control",
  "clear-site-data",
  "content-location",
  "content-security-policy-report-only",
  "critical-ch",
  "cross-origin-embedder-policy",
  "cross-origin-embedder-policy-report-only",
  "cross-origin-opener-policy",
  "cross-origin-opener-policy-report-only",
  "cross-origin-resource-policy",
  "http2-settings",
  "keep-alive",
  "link",
  "location",
  "nel",
  "origin-agent-cluster",
  "origin-trial",
  "permissions-policy",
  "permissions-policy-report-only",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-status",
  "refresh",
  "report-to",
  "reporting-endpoints",
  "sec-session-registration",
  "secure-session-registration",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "set-login",
  "sourcemap",
  "speculation-rules",
  "strict-transport-security",
  "surrogate-control",
  "surrogate-key",
  "te",
  "timing-allow-origin",
  "trailer",
  "upgrade",
  "use-as-dictionary",
  "www-authenticate",
  "x-accel-buffering",
  "x-accel-charset",
  "x-accel-expires",
  "x-accel-limit-rate",
  "x-accel-redirect",
  "x-dns-prefetch-control",
  "x-frame-options",
  "x-lighttpd-send-file",
  "x-lighttpd-send-tempfile",
  "x-litespeed-location",
  "x-permitted-cross-domain-policies",
  "x-proxy-error-source",
  "x-proxy-request-id",
  "x-reproxy-url",
  "x-robots-tag",
  "x-sendfile",
  "x-sourcemap",
  "x-ua-compatible",
  "x-xss-protection",
];

const UPSTREAMS = "upstreams-own";
const ALL = [...PASSED, ...DROPPED, "content-security-policy", "x-content-type-options"].map(
  (name) => `${name}: ${UPSTREAMS}`,
);

/** What of the upstream's came back, by its value. */
function toPassed(response: Response): readonly string[] {
  return [...response.headers].filter(([, value]) => value.includes(UPSTREAMS)).map(([name]) => name);
}

describe("of the headers that are known, those that act on our origin or on a proxy in front stay out", () => {
  test.each([200, 307, 401])("on /v1, with status %d", async (status) => {
    const { proxy } = await startPair((call) => call.reply({ status, body: "moved", headers: ALL }));
    const response = await proxy.post(CHAT);
    expect(response.status).toBe(status);
    expect(await response.text()).toBe("moved");
    expect([...toPassed(response)].sort()).toEqual([...PASSED].sort());
    expect(response.headers.get("content-security-policy")).toBe("sandbox");
  });

  test.each([200, 307, 401])("on the relay, with status %d", async (status) => {
    const { send } = await startRelay((call) => call.reply({ status, body: "moved", headers: ALL }));
    const response = await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe("moved");
    // The relay has a referrer policy of its own, since a token stands in its paths.
    expect([...toPassed(response)].sort()).toEqual(
      PASSED.filter((name) => name !== "referrer-policy").sort(),
    );
  });

  /** What a browser gets of those that pass. */
  const FOR_BROWSERS = [
    "anthropic-organization-id",
    "anthropic-ratelimit-requests-remaining",
    "content-language",
    "openai-model",
    "openai-organization",
    "openai-processing-ms",
    "openai-version",
    "ratelimit-limit",
    "ratelimit-policy",
    "request-id",
    "retry-after",
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "x-request-id",
  ];
  const NEVER_HEARD_OF = ["x-any", "next-years-browser-feature", "retry-afterwards", "x-retry-after"];

  test.each(["cross-site", "same-origin", "none"])(
    "a browser (Sec-Fetch-Site: %s) gets what is known to be of the answer, and nothing else",
    async (site) => {
      const headers = [...ALL, ...NEVER_HEARD_OF.map((name) => `${name}: ${UPSTREAMS}`)];
      const browser = { "sec-fetch-site": site };
      const { proxy } = await startPair((call) => call.reply({ body: "{}", headers }));
      const onV1 = await proxy.post(CHAT, { headers: browser });
      const { send } = await startRelay((call) => call.reply({ body: "{}", headers }));
      const relayed = await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE), headers: browser });
      for (const response of [onV1, relayed]) {
        expect([...toPassed(response)].sort()).toEqual([...FOR_BROWSERS, "retry-afterwards"].sort());
        expect(response.headers.get("x-proxy-request-id")).toMatch(/^[0-9a-f-]{36}$/);
        expect(response.headers.get("content-security-policy")).toBe("sandbox");
      }
    },
  );

  test.each([
    "text/javascript",
    "application/javascript; charset=utf-8",
    "TEXT/JavaScript",
    "application/x-ecmascript",
    "text/jscript",
    "text/css",
    "text/xsl",
    "application/wasm",
    "text/plain, text/javascript",
  ])("a browser is never given %s, which a page could load as its own", async (type) => {
    const { send } = await startRelay((call) =>
      call.reply({ body: "alert(1)", headers: [`content-type: ${type}`] }),
    );
    for (const status of ["same-origin", "cross-site"]) {
      const response = await send("GET", "/v1/files/f/content", { headers: { "sec-fetch-site": status } });
      expect(response.headers.get("content-type")).toBe("text/plain");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(await response.text()).toBe("alert(1)");
    }
    // A program gets what the upstream says.
    const program = await send("GET", "/v1/files/f/content");
    expect(program.headers.get("content-type")).toBe(type);
    expect(program.headers.get("cross-origin-resource-policy")).toBe("same-origin");
  });

  test.each(["application/json", "text/event-stream; charset=utf-8", "image/png"])(
    "a browser is given %s as it is",
    async (type) => {
      const { send } = await startRelay((call) =>
        call.reply({ body: "x", headers: [`content-type: ${type}`] }),
      );
      const response = await send("GET", "/v1/models", { headers: { "sec-fetch-site": "none" } });
      expect(response.headers.get("content-type")).toBe(type);
    },
  );

  test("a name that only begins like one of them passes", async () => {
    const names = ["links", "content-locations", "x-accelerated", "crossorigin", "locations"];
    const { proxy } = await startPair((call) =>
      call.reply({ body: "{}", headers: names.map((name) => `${name}: ${UPSTREAMS}`) }),
    );
    expect([...toPassed(await proxy.post(CHAT))].sort()).toEqual([...names].sort());
  });
});
