import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ProviderDraft } from "#catalog/provider.ts";
import { createModelsCall, MODELS_BYTES_MAX, MODELS_CALL_MS_MAX } from "#forward/models-call.ts";
import {
  openBlackHole,
  startUpstream,
  type ScriptedUpstream,
  type UpstreamScript,
} from "../support/upstream.ts";
import { call, expectError, startHarness, type Harness } from "./support.ts";

const CREDENTIAL = "sk-upstream-secret-word";
const LIST = JSON.stringify({ object: "list", data: [{ id: "b" }, { id: "a", object: "model" }] });

let harness: Harness;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(async () => {
  await harness.stop();
  await upstream.stop();
});

/** A provider `acme` whose upstream answers so. */
async function startProvider(script: UpstreamScript, draft: Partial<ProviderDraft> = {}): Promise<void> {
  upstream = await startUpstream({ script });
  await harness.deps.catalog.createProvider(
    { name: "acme", base_url: upstream.baseUrl, api_key: CREDENTIAL, ...draft },
    null,
  );
}

const discover = (name = "acme") => call(harness, "GET", `/admin/v1/providers/${name}/discover`);

/** The refusal, which tells nothing of where the upstream is, what opens it or what it said. */
async function refusal(code: "provider_unreachable" | "discovery_failed"): Promise<string> {
  const message = await expectError(await discover(), `502 ${code}`, null);
  expect(message).not.toMatch(/secret-word|127\.0\.0\.1|http:|https:/);
  expect(harness.logLines.join("")).not.toMatch(/secret-word/);
  return message;
}

describe("GET /admin/v1/providers/{name}/discover", () => {
  test("asks the models endpoint once with the stored credential, and answers what it lists beside what is bound", async () => {
    await startProvider((upstreamCall) => upstreamCall.reply({ body: LIST }));
    await harness.deps.catalog.createModel({ alias: "mine", provider: "acme", upstreamName: "a" }, null);
    const before = await harness.deps.catalog.snapshot();
    const response = await discover();
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        provider: "acme",
        discovered_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/),
        models: [
          { upstream_name: "a", bound_alias: "mine" },
          { upstream_name: "b", bound_alias: null },
        ],
      },
    ]);
    expect(await harness.deps.catalog.snapshot()).toBe(before);
    expect(upstream.requests).toHaveLength(1);
    const { method, target, headers } = upstream.lastRequest();
    expect([method, target, headers.get("authorization")]).toEqual([
      "GET",
      "/v1/models",
      `Bearer ${CREDENTIAL}`,
    ]);
    expect([
      headers.get("accept-encoding"),
      headers.get("user-agent"),
      headers.has("content-length"),
    ]).toEqual(["identity", "lockport", false]);
    const { events } = await (await call(harness, "GET", "/admin/v1/events")).json();
    expect(events.filter(({ action }: { action: string }) => action.startsWith("provider"))).toEqual([]);
  });

  test("sends the caller's key nowhere, and no credential when none is stored", async () => {
    await startProvider((upstreamCall) => upstreamCall.reply({ body: LIST }), { api_key: "" });
    expect((await discover()).status).toBe(200);
    expect(upstream.lastRequest().headers.has("authorization")).toBe(false);
    expect(upstream.lastRequest().head).not.toContain(harness.adminKey);
  });

  test("works on a disabled provider, and in chunks", async () => {
    await startProvider(async (upstreamCall) => {
      await upstreamCall.beginStream(["content-type: application/json"]);
      for (const byte of LIST) await upstreamCall.sendChunk(byte);
      await upstreamCall.endStream();
    });
    await harness.deps.catalog.updateProvider("acme", { enabled: false }, null);
    expect((await (await discover()).json()).models).toHaveLength(2);
  });

  test("asks once on a connection of its own, so that nothing is sent again when one breaks", async () => {
    await startProvider((upstreamCall) =>
      upstream.requests.length === 1 ? upstreamCall.reply({ body: LIST }) : upstreamCall.reset(),
    );
    expect((await discover()).status).toBe(200);
    expect((await discover()).status).toBe(502);
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.connectionCount()).toBe(2);
  });

  test("takes no slot of max_concurrency", async () => {
    const both = Promise.withResolvers<void>();
    await startProvider(
      async (upstreamCall) => {
        if (upstream.requests.length === 2) both.resolve();
        await both.promise;
        await upstreamCall.reply({ body: LIST });
      },
      { max_concurrency: 1 },
    );
    const answers = await Promise.all([discover(), discover()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });
});

test("with include_capabilities=1 each model comes with what it would be bound as, and who says so; without it with two keys alone", async () => {
  const data = [
    { id: "fast" },
    { id: "sees", architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] } },
    { id: "whisper-1" },
    { id: "dall-e-3" },
  ];
  await startProvider((upstreamCall) => upstreamCall.reply({ body: JSON.stringify({ data }) }));
  const ask = async (query: string) =>
    (await (await call(harness, "GET", `/admin/v1/providers/acme/discover${query}`)).json()).models;
  const chat = ["chat", "chat_stream"];
  expect(await ask("?include_capabilities=1")).toEqual(
    [
      ["dall-e-3", "image", ["images"], "name"],
      ["fast", "chat", chat, "default"],
      ["sees", "chat", [...chat, "vision"], "provider"],
      ["whisper-1", "transcription", ["transcription"], "name"],
    ].map(([upstream_name, kind, capabilities, guessed_from]) => ({
      upstream_name,
      bound_alias: null,
      kind,
      capabilities,
      guessed_from,
    })),
  );
  for (const query of ["", "?include_capabilities=0"])
    expect(Object.keys((await ask(query))[0])).toEqual(["upstream_name", "bound_alias"]);
});

describe("POST /admin/v1/discover", () => {
  const ask = (draft: object) => call(harness, "POST", "/admin/v1/discover", { body: draft });

  test("asks a provider that is not stored, once and with the key that was sent, and keeps nothing of it", async () => {
    upstream = await startUpstream({ script: (upstreamCall) => upstreamCall.reply({ body: LIST }) });
    const before = await harness.deps.catalog.snapshot();
    const response = await ask({ name: "fresh", base_url: upstream.baseUrl, api_key: CREDENTIAL });
    const text = await response.text();
    expect([response.status, JSON.parse(text)]).toEqual([
      200,
      {
        provider: "fresh",
        discovered_at: expect.any(String),
        models: ["a", "b"].map((name) => ({
          upstream_name: name,
          bound_alias: null,
          kind: "chat",
          capabilities: ["chat", "chat_stream"],
          guessed_from: "default",
        })),
      },
    ]);
    expect(upstream.requests).toHaveLength(1);
    const { method, target, headers } = upstream.lastRequest();
    expect([method, target, headers.get("authorization")]).toEqual([
      "GET",
      "/v1/models",
      `Bearer ${CREDENTIAL}`,
    ]);
    expect(upstream.lastRequest().head).not.toContain(harness.adminKey);
    expect(await harness.deps.catalog.snapshot()).toBe(before);
    const { events } = await (await call(harness, "GET", "/admin/v1/events")).json();
    expect(events.filter(({ action }: { action: string }) => action.startsWith("provider"))).toEqual([]);
    expect(text + harness.logLines.join("")).not.toContain("secret-word");
  });

  test("refuses what making the provider would refuse, before anything is sent, and repeats none of it", async () => {
    await startProvider(() => undefined);
    const draft = { name: "fresh", base_url: upstream.baseUrl, api_key: CREDENTIAL };
    const refused = async (change: object, status: number, code: string) => {
      const message = await expectError(await ask({ ...draft, ...change }), `${status} ${code}`);
      expect(message + harness.logLines.join("")).not.toMatch(/secret-word|metadata\/|169\.254/);
    };
    await refused({ name: "acme" }, 409, "provider_exists");
    await refused({ base_url: "http://169.254.169.254/latest" }, 400, "invalid_base_url");
    await refused({ base_url: "file:///etc/passwd" }, 400, "invalid_base_url");
    await refused({ endpoints: { chat: "http://169.254.169.254/" } }, 400, "invalid_override");
    await refused({ api_key: `${CREDENTIAL}\r\nx: y` }, 400, "invalid_request");
    await refused({ ca_pem: "no PEM" }, 400, "invalid_request");
    await refused({ enabled: true }, 400, "invalid_request");
    expect(upstream.requests).toHaveLength(0);
  });

  test("is no name that a provider could not have", async () => {
    upstream = await startUpstream({ script: (upstreamCall) => upstreamCall.reply({ body: LIST }) });
    const made = await call(harness, "POST", "/admin/v1/providers", {
      body: { name: "discover", base_url: upstream.baseUrl },
    });
    expect(made.status).toBe(201);
    expect((await (await discover("discover")).json()).models).toHaveLength(2);
    expect((await call(harness, "DELETE", "/admin/v1/providers/discover")).status).toBe(200);
  });
});

describe("a provider that cannot be reached is 502 provider_unreachable, which names the class", () => {
  test("when nobody listens", async () => {
    await startProvider(() => undefined);
    await upstream.stop();
    expect(await refusal("provider_unreachable")).toContain("connection_error");
  });

  test.each<[string, UpstreamScript]>([
    ["it resets the connection", (upstreamCall) => upstreamCall.reset()],
    [
      "it speaks no HTTP",
      async (upstreamCall) => {
        await upstreamCall.send("220 secret-word ESMTP\r\n");
        upstreamCall.finish();
      },
    ],
    [
      "it breaks off inside a chunk",
      async (upstreamCall) => {
        await upstreamCall.beginStream();
        await upstreamCall.sendChunk('{"data":[');
        upstreamCall.reset();
      },
    ],
  ])("when %s", async (_, script) => {
    await startProvider(script);
    expect(await refusal("provider_unreachable")).toContain("connection_error");
  });

  test.each<[string, UpstreamScript]>([
    ["before its head", () => undefined],
    [
      "inside its body",
      (upstreamCall) => upstreamCall.send('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"data":['),
    ],
  ])("when it hangs %s, whose connection is then closed", async (_, script) => {
    const closed = Promise.withResolvers<void>();
    await startProvider(
      (upstreamCall) => {
        upstreamCall.closed.then(closed.resolve, closed.reject);
        return script(upstreamCall);
      },
      { timeout_connect: 0.1, timeout_read: 0.1 },
    );
    expect(await refusal("provider_unreachable")).toContain("timeout");
    await closed.promise;
  });

  test("when its address takes no connection", async () => {
    const blackHole = await openBlackHole();
    if (blackHole === null) return;
    await startProvider(() => undefined, {
      base_url: blackHole.baseUrl,
      timeout_connect: 0.1,
      timeout_read: 0.1,
    });
    expect(await refusal("provider_unreachable")).toContain("timeout");
    blackHole.stop();
  });

  test.each<[string, UpstreamScript]>([
    [
      "says that it is",
      (upstreamCall) =>
        upstreamCall.send(`HTTP/1.1 200 OK\r\ncontent-length: ${MODELS_BYTES_MAX + 1}\r\n\r\n[`),
    ],
    [
      "just goes on",
      async (upstreamCall) => {
        await upstreamCall.beginStream();
        while (await upstreamCall.sendChunk(" ".repeat(256 * 1024)));
      },
    ],
  ])("when its answer is too large and %s, whose connection is then closed", async (_, script) => {
    const closed = Promise.withResolvers<void>();
    await startProvider((upstreamCall) => {
      upstreamCall.closed.then(closed.resolve, closed.reject);
      return script(upstreamCall);
    });
    expect(await refusal("provider_unreachable")).toContain("response_too_large");
    await closed.promise;
  });

  test("when its certificate is trusted by nobody, and it is sent no credential", async () => {
    const read = (name: string) => Bun.file(`${import.meta.dir}/../fixtures/tls/${name}`).text();
    const tls = { key: await read("upstream.key.pem"), cert: await read("upstream.cert.pem") };
    upstream = await startUpstream({ tls, script: (upstreamCall) => upstreamCall.reply({ body: LIST }) });
    const { catalog } = harness.deps;
    await catalog.createProvider({ name: "acme", base_url: upstream.baseUrl, api_key: CREDENTIAL }, null);
    expect(await refusal("provider_unreachable")).toContain("connection_error");
    expect(upstream.requests).toHaveLength(0);
    await catalog.updateProvider("acme", { ca_pem: tls.cert }, null);
    expect((await discover()).status).toBe(200);
    await catalog.updateProvider("acme", { ca_pem: "", verify_tls: false }, null);
    expect((await discover()).status).toBe(200);
  });
});

describe("an answer that is no list of models is 502 discovery_failed", () => {
  test.each([401, 503])("status %d, which it names", async (status) => {
    await startProvider((upstreamCall) =>
      upstreamCall.reply({ status, body: '{"error":{"message":"secret-word"}}' }),
    );
    expect(await refusal("discovery_failed")).toContain(String(status));
  });

  test.each([302, 308])("a redirect of status %d, which is not followed", async (status) => {
    const elsewhere = await startUpstream({ script: (upstreamCall) => upstreamCall.reply({ body: LIST }) });
    try {
      const location = `location: ${elsewhere.baseUrl}/models?secret-word`;
      await startProvider((upstreamCall) => upstreamCall.reply({ status, headers: [location] }));
      expect(await refusal("discovery_failed")).toContain(String(status));
      expect(elsewhere.connectionCount()).toBe(0);
    } finally {
      await elsewhere.stop();
    }
  });

  test.each<[string, string | Uint8Array, readonly string[]]>([
    ["a page", "<!doctype html><p>secret-word", ["content-type: text/html"]],
    ["what compresses to little", Bun.gzipSync(" ".repeat(64 << 20)), ["content-encoding: gzip"]],
  ])("%s", async (_, body, headers) => {
    await startProvider((upstreamCall) => upstreamCall.reply({ body, headers }));
    await refusal("discovery_failed");
  });

  test("an endless body behind an error status is not read, and its connection is closed", async () => {
    const closed = Promise.withResolvers<void>();
    await startProvider(async (upstreamCall) => {
      upstreamCall.closed.then(closed.resolve, closed.reject);
      await upstreamCall.send("HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n");
      while (await upstreamCall.sendChunk(" ".repeat(64 * 1024)));
    });
    await refusal("discovery_failed");
    await closed.promise;
  });
});

test("a caller that hangs up closes the upstream's connection", async () => {
  upstream = await startUpstream();
  await harness.deps.catalog.createProvider({ name: "acme", base_url: upstream.baseUrl }, null);
  const caller = new AbortController();
  const answer = fetch(`${harness.url}/admin/v1/providers/acme/discover`, {
    headers: { authorization: `Bearer ${harness.adminKey}` },
    signal: caller.signal,
  }).catch(() => "gone");
  const upstreamCall = await upstream.nextCall();
  caller.abort();
  expect(await answer).toBe("gone");
  await upstreamCall.closed;
});

describe("a provider that takes its credential as x-api-key", () => {
  const ANTHROPIC = { auth_style: "x-api-key" } as const;
  /** As Anthropic lists: newest first, a page at a time, and only to who names a version. */
  const pages: UpstreamScript = (upstreamCall) => {
    const { headers, target } = upstreamCall.request;
    if (headers.get("x-api-key") !== CREDENTIAL) return upstreamCall.reply({ status: 401, body: "{}" });
    if (!headers.has("anthropic-version")) return upstreamCall.reply({ status: 400, body: "{}" });
    const afterId = new URL(target, "http://acme").searchParams.get("after_id");
    const page =
      afterId === null
        ? {
            data: [{ id: "claude-c", type: "model" }, { id: "claude-b" }],
            has_more: true,
            last_id: "claude-b",
          }
        : { data: [{ id: "claude-a", type: "model" }], has_more: false, last_id: "claude-a" };
    return upstreamCall.reply({ body: JSON.stringify(page) });
  };
  const namesIn = async (response: Response) => {
    const { models }: { models: { upstream_name: string }[] } = JSON.parse(await response.text());
    return models.map(({ upstream_name }) => upstream_name);
  };

  test("is asked so, with a version of Anthropic's API and without Authorization, and all of its pages are listed", async () => {
    await startProvider(pages, ANTHROPIC);
    expect(await namesIn(await discover())).toEqual(["claude-a", "claude-b", "claude-c"]);
    expect(upstream.requests.map(({ target }) => target)).toEqual([
      "/v1/models",
      "/v1/models?after_id=claude-b",
    ]);
    for (const { headers } of upstream.requests) expect(headers.has("authorization")).toBe(false);
  });

  test("is asked so before it is stored, too", async () => {
    upstream = await startUpstream({ script: pages });
    const draft = { name: "new", base_url: upstream.baseUrl, api_key: CREDENTIAL, auth_style: "x-api-key" };
    const answer = await call(harness, "POST", "/admin/v1/discover", { body: draft });
    expect(await namesIn(answer)).toEqual(["claude-a", "claude-b", "claude-c"]);
  });

  test("is refused as any other where its key is wrong, which stands in no message", async () => {
    await startProvider(pages, { ...ANTHROPIC, api_key: "another-secret-word" });
    expect(await refusal("discovery_failed")).toContain("401");
  });
});

test("a provider that takes a bearer is asked with no version of Anthropic's API", async () => {
  await startProvider((upstreamCall) => upstreamCall.reply({ body: LIST }));
  expect((await discover()).status).toBe(200);
  const { headers } = upstream.lastRequest();
  expect([headers.has("anthropic-version"), headers.has("x-api-key")]).toEqual([false, false]);
});

describe("the call of a models endpoint", () => {
  const fetchModels = async (bounds: { maxResponseBytes?: number; monotonicMs?: () => number }) => {
    const { catalog, clock } = harness.deps;
    const provider = (await catalog.snapshot()).findProvider("acme");
    if (provider === null) throw new Error("there is no provider");
    const { maxResponseBytes = 1000, monotonicMs = () => 0 } = bounds;
    const callModels = createModelsCall({
      clock: { ...clock, monotonicMs },
      secrets: harness.secrets,
      maxResponseBytes,
    });
    return callModels(provider, { afterId: null, signal: new AbortController().signal });
  };

  test(`ends after ${MODELS_CALL_MS_MAX} ms, however long the provider may be silent otherwise`, async () => {
    let nowMs = 0;
    await startProvider(() => (nowMs = MODELS_CALL_MS_MAX), { timeout_read: 300 });
    expect(await fetchModels({ monotonicMs: () => nowMs })).toEqual({ kind: "failed", error: "timeout" });
  });

  test("holds no more than PROXY_MAX_RESPONSE_BYTES", async () => {
    await startProvider((upstreamCall) => upstreamCall.reply({ body: LIST }));
    const answers = [
      await fetchModels({ maxResponseBytes: LIST.length }),
      await fetchModels({ maxResponseBytes: LIST.length - 1 }),
    ];
    expect(answers.map(({ kind }) => kind)).toEqual(["answered", "failed"]);
  });
});
