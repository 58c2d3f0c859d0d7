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
  "cdn-cache-control",
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
  "timing-allow-origin",
  "traceparent",
  "vary",
  "via",
  "warning",
  "x-cache",
  "x-content-digest",
  "x-frame-options",
  "x-groq-region",
  "x-inference-time",
  "x-ms-region",
  "x-powered-by",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
  "x-request-id",
  "x-robots-tag",
  "x-should-retry",
  "x-xss-protection",
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
  "alt-svc",
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
  "permissions-policy",
  "permissions-policy-report-only",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-status",
  "refresh",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "sourcemap",
  "speculation-rules",
  "strict-transport-security",
  "te",
  "trailer",
  "upgrade",
  "www-authenticate",
  "x-accel-buffering",
  "x-accel-charset",
  "x-accel-expires",
  "x-accel-limit-rate",
  "x-accel-redirect",
  "x-lighttpd-send-file",
  "x-lighttpd-send-tempfile",
  "x-litespeed-location",
  "x-proxy-error-source",
  "x-proxy-request-id",
  "x-reproxy-url",
  "x-sendfile",
  "x-sourcemap",
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

  test("a name that only begins like one of them passes", async () => {
    const names = ["links", "content-locations", "x-accelerated", "crossorigin", "locations"];
    const { proxy } = await startPair((call) =>
      call.reply({ body: "{}", headers: names.map((name) => `${name}: ${UPSTREAMS}`) }),
    );
    expect([...toPassed(await proxy.post(CHAT))].sort()).toEqual([...names].sort());
  });
});
