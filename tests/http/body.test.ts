import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import net from "node:net";
import { parseJson, PUBLIC_BODY_BYTES_MAX, readBody } from "#http/door/body.ts";
import { BodyRefusal, closesUnread, type BodyLimits } from "#http/door/body-reader.ts";
import { createBodyMemory } from "#http/door/body-memory.ts";
import { toErrorResponse } from "#http/door/envelope.ts";
import { ProxyError } from "#kernel/errors.ts";
import { isOnPostgres } from "../support/engine.ts";
import { call, expectError, sendRaw, startHarness, toResponse, type Harness } from "./support.ts";

const MAX_BYTES = 256 * 1024;

describe("a body of the data plane", () => {
  let harness: Harness;
  let bodies: Uint8Array[];
  beforeAll(async () => {
    bodies = [];
    harness = await startHarness({
      exchange: {
        run: async ({ body }) => {
          bodies.push(body);
          return { kind: "responded", response: new Response(String(body.length)) };
        },
      },
    });
  });
  afterAll(() => harness.stop());

  const head = (lines: string, path = "/v1/chat/completions") =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${harness.adminKey}\r\n${lines}\r\n\r\n`;
  const chunked = (...chunks: string[]) =>
    [...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");

  test.each([0, 1, 1000, 64 * 1024, 64 * 1024 + 1, MAX_BYTES])(
    "of %d bytes arrives as it was sent, with a length and chunked",
    async (sizeBytes) => {
      const sent = crypto.getRandomValues(new Uint8Array(Math.min(sizeBytes, 65536)));
      const body = Buffer.alloc(sizeBytes, sent);
      const response = await call(harness, "POST", "/v1/chat/completions", { body: new Uint8Array(body) });
      expect(await response.text()).toBe(String(sizeBytes));
      expect(Buffer.compare(bodies.at(-1) ?? new Uint8Array(), body)).toBe(0);

      const stream = new ReadableStream({
        start(controller) {
          for (let at = 0; at < sizeBytes; at += 10_000)
            controller.enqueue(new Uint8Array(body.subarray(at, at + 10_000)));
          controller.close();
        },
      });
      const again = await fetch(`${harness.url}/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${harness.adminKey}` },
        body: stream,
      });
      expect(await again.text()).toBe(String(sizeBytes));
      expect(Buffer.compare(bodies.at(-1) ?? new Uint8Array(), body)).toBe(0);
    },
  );

  test("whose length is over the limit is 413 at once, without a byte of it read", async () => {
    const before = bodies.length;
    // The body never comes: an answer proves that nobody waited for it.
    const raw = await sendRaw(harness.port, head(`Content-Length: ${MAX_BYTES + 1}\r\nConnection: close`));
    const message = await expectError(toResponse(raw), "413 request_too_large", null);
    expect(message).toContain(String(MAX_BYTES));
    expect(bodies.length).toBe(before);
  });

  test("whose length is absurd is 413 as well, and the connection closes instead of waiting for the rest", async () => {
    for (const length of ["999999999999999", "9007199254740993"]) {
      const response = toResponse(await sendRaw(harness.port, head(`Content-Length: ${length}`)));
      expect(response.headers.get("connection")).toBe("close");
      await expectError(response, "413 request_too_large");
    }
  });

  test("that is chunked is counted, and is 413 once it is over the limit", async () => {
    const before = bodies.length;
    const chunks = Array.from({ length: 6 }, () => "x".repeat(50_000));
    const raw = await sendRaw(
      harness.port,
      head("Transfer-Encoding: chunked\r\nConnection: close") + chunked(...chunks),
    );
    await expectError(toResponse(raw), "413 request_too_large");
    expect(bodies.length).toBe(before);
  });

  test("that was refused does not harm the next request of its connection, which comes after the answer", async () => {
    const big = "x".repeat(MAX_BYTES + 1);
    const next = `${head("Content-Length: 2\r\nConnection: close")}{}`;
    const statuses = await new Promise<string[]>((resolve, reject) => {
      let raw = "";
      const socket = net.connect(harness.port, "127.0.0.1", () => {
        socket.write(`${head(`Content-Length: ${big.length}`)}${big}`);
      });
      socket.on("data", (bytes) => {
        // The whole envelope of the first answer has come.
        if (raw === "" && bytes.includes("}}")) socket.write(next);
        raw += bytes.toString("latin1");
      });
      socket.on("error", reject);
      socket.on("close", () => resolve([...(raw.match(/HTTP\/1\.1 \d+/g) ?? [])]));
    });
    expect(statuses).toEqual(["HTTP/1.1 413", "HTTP/1.1 200"]);
  });

  // The runtime ends a connection on which a second request comes while the first waits for its answer: the stores of these
  // tests are those of a command, which asks PostgreSQL for every caller, so that even a refusal waits.
  test.skipIf(isOnPostgres)("that was refused does not harm a request pipelined behind it", async () => {
    const big = "x".repeat(MAX_BYTES + 1);
    const raw = await sendRaw(
      harness.port,
      `${head(`Content-Length: ${big.length}`)}${big}${head("Content-Length: 2\r\nConnection: close")}{}`,
    );
    expect(raw.match(/HTTP\/1\.1 (\d+)/g)).toEqual(["HTTP/1.1 413", "HTTP/1.1 200"]);
  });

  test("that is encoded is 400 invalid_json, whatever the encoding", async () => {
    const before = bodies.length;
    const body = Bun.gzipSync(new TextEncoder().encode("{}"));
    for (const encoding of ["gzip", "br", "zstd", "x-unknown", "gzip, identity", "identity"]) {
      const headers = { authorization: `Bearer ${harness.adminKey}`, "content-encoding": encoding };
      const response = await call(harness, "POST", "/v1/chat/completions", { body, headers });
      await expectError(response, "400 invalid_json", null);
    }
    expect(bodies.length).toBe(before);
  });

  test.each(["/v1/chat/completions", "/completions", "/admin/v1/providers", "/my/keys"])(
    "is not read for a caller that is not authenticated: POST %s answers while the body is still to come",
    async (path) => {
      const raw = await sendRaw(
        harness.port,
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n`,
      );
      await expectError(toResponse(raw), "401 missing_api_key");
    },
  );

  test("without an end, from a caller that is not authenticated, ends the connection after the answer", async () => {
    const raw = await sendRaw(
      harness.port,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${"5\r\nxxxxx\r\n".repeat(10)}`,
    );
    const response = toResponse(raw);
    expect(response.headers.get("connection")).toBe("close");
    await expectError(response, "401 missing_api_key");
  });

  test("whose sender hangs up in the middle is nobody's error: nothing is served and nothing is logged", async () => {
    const before = bodies.length;
    for (const framing of ["Content-Length: 1000", "Content-Length: 100000", "Transfer-Encoding: chunked"]) {
      await new Promise<void>((resolve) => {
        const socket = net.connect(harness.port, "127.0.0.1", () => {
          socket.write(`${head(framing)}3\r\nabc\r\n`, () => socket.destroy());
        });
        socket.on("close", () => resolve());
      });
    }
    // A round trip on another connection: whatever the hang-ups set off has been set off by then.
    await call(harness, "GET", "/admin/v1/providers");
    expect(bodies.length).toBe(before);
    expect(harness.logLines.filter((line) => line.includes('"error"'))).toEqual([]);
  });

  test("sent after Expect: 100-continue is asked for and served", async () => {
    const raw = await sendRaw(
      harness.port,
      `${head("Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close")}{}`,
    );
    expect(raw).toStartWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK");
  });

  test.each([
    ["401", "Content-Length: 1000", "missing_api_key"],
    ["413", `Content-Length: ${MAX_BYTES + 1}`, "request_too_large"],
  ])(
    "that Expect: 100-continue announces and that is refused is %s without a byte of it, although the runtime has asked for it",
    async (status, length, code) => {
      const before = bodies.length;
      const lines = `${length}\r\nExpect: 100-continue\r\nConnection: close`;
      const raw = await sendRaw(
        harness.port,
        status === "401" ? head(lines).replace(/Authorization.*\r\n/, "") : head(lines),
      );
      const [asked, ...answer] = raw.split("\r\n\r\n");
      expect(asked).toBe("HTTP/1.1 100 Continue");
      await expectError(toResponse(answer.join("\r\n\r\n")), `${Number(status)} ${code}`);
      expect(bodies.length).toBe(before);
    },
  );
});

describe("a slow body", () => {
  let server: Bun.Server<unknown>;
  /** A tenth of a second instead of twenty: what is shown is the rule, not the figure. */
  const limits: BodyLimits = { maxBytes: 1_000_000, graceMs: 100, msPerByte: 1, maxMs: 2_000 };
  const memory = createBodyMemory({ bytesMax: limits.maxBytes, totalBytesMax: limits.maxBytes });
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      development: false,
      async fetch(request) {
        try {
          return new Response(await read(request));
        } catch (refusal) {
          return refusal instanceof ProxyError
            ? toErrorResponse(refusal, request, {
                requestId: "0197e000-0000-7000-8000-000000000000",
                dialect: "interface",
              })
            : new Response(null, { status: 499 });
        }
      },
    });
  });
  afterAll(() => server.stop(true));

  async function read(request: Request): Promise<string> {
    const { bytes, reservation } = await readBody(request, limits, { memory, owner: "ada" });
    reservation?.close();
    return String(bytes.length);
  }

  const head = (framing: string) => `POST / HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n`;

  test.each(["Content-Length: 10", "Content-Length: 100000", "Transfer-Encoding: chunked"])(
    "that stops coming (%s) is 400 invalid_request after the grace, and its connection closes",
    async (framing) => {
      const response = toResponse(await sendRaw(server.port!, `${head(framing)}1\r\nx\r\n`));
      expect(response.headers.get("connection")).toBe("close");
      await expectError(response, "400 invalid_request", null);
    },
  );

  test("earns time with every byte: one that comes steadily is read to its end, past the grace", async () => {
    const chunk = "x".repeat(20_000);
    const startedMs = performance.now();
    const stream = new ReadableStream({
      async pull(controller) {
        // The first piece comes at once: it earns what a busy machine needs, which may stand still for longer than the grace.
        controller.enqueue(new TextEncoder().encode(chunk));
        if (performance.now() - startedMs > 300) controller.close();
        // The pace of the sender, not a wait for something to happen.
        else await Bun.sleep(60);
      },
    });
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: "POST", body: stream });
    expect(response.status).toBe(200);
    expect(Number(await response.text()) % chunk.length).toBe(0);
    expect(performance.now() - startedMs).toBeGreaterThan(limits.graceMs);
  });

  test("is not late because of the time in which it waited for memory and nothing was read of it", async () => {
    const body = new Uint8Array(limits.maxBytes);
    const first = memory.reserve(new Request("http://localhost/"), limits.maxBytes, "bob");
    expect(first?.acquire(limits.maxBytes)).toBeNull();
    const response = fetch(`http://127.0.0.1:${server.port}/`, { method: "POST", body });
    while (memory.waitingCount() === 0) await Bun.sleep(1);
    // Three times as long as a body may stay away.
    await Bun.sleep(3 * limits.graceMs);
    expect(memory.waitingCount()).toBe(1);
    first?.close();
    expect(await (await response).text()).toBe(String(body.length));
  });

  test("has no more time than a whole body has, however much has come, and gives its memory back", async () => {
    const raw = await sendRaw(
      server.port!,
      Buffer.concat([Buffer.from(head(`Content-Length: ${limits.maxBytes}`)), new Uint8Array(600_000)]),
    );
    // By its bytes alone it would have ten minutes.
    await expectError(toResponse(raw), "400 invalid_request", null);
    const next = memory.reserve(new Request("http://localhost/"), limits.maxBytes, "bob");
    expect(next?.acquire(limits.maxBytes)).toBeNull();
    next?.close();
  });
});

describe("a body of the admin and self-service routes", () => {
  test("is at most 16 KiB where no credentials are asked for, since anybody may send as many as he likes", async () => {
    const harness = await startHarness();
    try {
      const signIn = (password: string) =>
        call(harness, "POST", "/auth/password", { body: { password }, headers: {} });
      const rest = JSON.stringify({ password: "" }).length;
      expect((await signIn("x".repeat(PUBLIC_BODY_BYTES_MAX - rest))).status).toBe(401);
      const larger = await signIn("x".repeat(PUBLIC_BODY_BYTES_MAX - rest + 1));
      await expectError(larger, "413 request_too_large", null);
    } finally {
      await harness.stop();
    }
  });

  test("is held to PROXY_MAX_BODY_BYTES as well, where that is less than a JSON body may otherwise be", async () => {
    const small = await startHarness({ config: { maxBodyBytes: 200 } });
    try {
      const create = (name: string) => call(small, "POST", "/admin/v1/principals", { body: { name } });
      expect((await create("a".repeat(100))).status).toBe(201);
      await expectError(await create("a".repeat(200)), "413 request_too_large", null);
      await expectError(
        await call(small, "POST", "/auth/password", { body: { password: "x".repeat(200) } }),
        "413 request_too_large",
      );
    } finally {
      await small.stop();
    }
  });
});

describe("a very deep body", () => {
  test("of the admin, self-service and sign-in routes is 400, or 413 where it is too large, never 500, and nothing of it is logged", async () => {
    const harness = await startHarness({ config: { maxBodyBytes: 1024 * 1024 } });
    try {
      for (const depth of [200, 10_000, 100_000]) {
        for (const path of ["/admin/v1/providers", "/admin/v1/models", "/my/keys", "/auth/password"]) {
          for (const [opening, closing] of [
            ["[", "]"],
            ['{"a":', "}"],
          ] as const) {
            const body = `{"name":${opening.repeat(depth)}1${closing.repeat(depth)}}`;
            const headers = { authorization: `Bearer ${harness.adminKey}` };
            const isLarge = path === "/auth/password" && body.length > PUBLIC_BODY_BYTES_MAX;
            await expectError(
              await call(harness, "POST", path, { body, headers }),
              isLarge ? "413 request_too_large" : "400 invalid_json",
              null,
            );
          }
        }
      }
      expect(harness.logLines.filter((line) => line.includes("failed"))).toEqual([]);
    } finally {
      await harness.stop();
    }
  });
});

describe("JSON", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test.each([
    ["nothing", bytes("")],
    ["blanks", bytes("  ")],
    ["a word", bytes("nope")],
    ["a cut object", bytes('{"a":')],
    ["two values", bytes("{} {}")],
    ["single quotes", bytes("{'a':1}")],
    ["a trailing comma", bytes('{"a":1,}')],
    ["NaN", bytes("NaN")],
    ["a byte-order mark", new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
    ["invalid UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
    ["an overlong encoding", new Uint8Array([0x22, 0xc0, 0xaf, 0x22])],
    ["a surrogate as UTF-8", new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["UTF-16", new Uint8Array([0x7b, 0, 0x7d, 0])],
    ["a NUL", new Uint8Array([0x7b, 0x7d, 0])],
  ])("%s is invalid_json, and the message repeats nothing of it", (_, given) => {
    try {
      parseJson(given);
      expect.unreachable();
    } catch (refusal) {
      expect(refusal).toBeInstanceOf(ProxyError);
      expect(refusal).toMatchObject({
        code: "invalid_json",
        param: null,
        message: "The body is not valid JSON in UTF-8.",
      });
    }
  });

  test("100,000 levels deep is parsed or refused, and never breaks anything", () => {
    const deep = bytes("[".repeat(100_000) + "]".repeat(100_000));
    try {
      expect(parseJson(deep)).toBeArray();
    } catch (refusal) {
      expect(refusal).toMatchObject({ code: "invalid_json" });
    }
  });
});

describe("the rest of a body that was refused", () => {
  test.each([
    [{}, false],
    [{ "content-length": "0" }, false],
    [{ "content-length": String(64 * 1024 * 1024) }, false],
    [{ "content-length": String(64 * 1024 * 1024 + 1) }, true],
    [{ "transfer-encoding": "chunked" }, true],
  ])("with %j closes the connection: %p", (headers, closes) => {
    expect(closesUnread(new Headers(headers as Record<string, string>))).toBe(closes);
    expect(new BodyRefusal("request_too_large", "", closes).closesConnection).toBe(closes);
  });
});
