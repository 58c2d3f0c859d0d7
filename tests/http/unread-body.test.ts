import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import net from "node:net";
import { call, PASSWORD, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const CRLF = "\r\n";
const JSON_TYPE = `Content-Type: application/json${CRLF}`;
const chunk = (text: string) => `${text.length.toString(16)}${CRLF}${text}${CRLF}`;
const TRAILERS = `0${CRLF}X-Checksum: 1${CRLF}${CRLF}`;

/** All that comes back until the server closes. `later` is sent once an answer has begun to come. */
function talk(first: string, later = ""): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = net.connect(harness.port, "127.0.0.1", () => socket.write(first));
    socket.once("data", () => socket.write(later));
    socket.on("data", (piece) => (answer += piece.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
  });
}

const REQUESTS: readonly (readonly [line: string, lines: string])[] = [
  ["POST /auth/password", `Content-Type: text/plain${CRLF}`],
  ["POST /auth/password", `Sec-Fetch-Site: cross-site${CRLF}${JSON_TYPE}`],
  ["POST /auth/password", `Content-Encoding: gzip${CRLF}${JSON_TYPE}`],
  ["POST /my/keys", JSON_TYPE],
  ["DELETE /my/keys/none", "Authorization: Bearer KEY\r\n"],
  ["PUT /my/keys", JSON_TYPE],
  ["POST /nothing", JSON_TYPE],
  ["GET /healthz", ""],
  ["GET /metrics", ""],
  ["GET /auth/me", ""],
  ["GET /auth/logout", ""],
  ["GET /v1/models", ""],
  ["GET /", ""],
  ["POST /v1/chat/completions", JSON_TYPE],
  ["POST /v1/chat/completions", "Authorization: Bearer KEY\r\nContent-Encoding: gzip\r\n"],
  ["POST /transparent/messages/lpt_none/v1/messages", JSON_TYPE],
];

describe("a chunked body that ends with trailers, which the runtime refuses", () => {
  const head = (line: string, lines: string) =>
    `${line} HTTP/1.1${CRLF}Host: localhost${CRLF}${lines.replace("KEY", harness.adminKey)}Transfer-Encoding: chunked${CRLF}${CRLF}`;
  const countAnswers = (raw: string) => raw.split("HTTP/1.1 ").length - 1;

  test.each(REQUESTS)("has one answer at %s (%j), sent at once or behind the answer", async (line, lines) => {
    const atOnce = await talk(head(line, lines) + chunk("{}") + TRAILERS);
    expect([countAnswers(atOnce), atOnce]).toEqual([1, atOnce]);
    const apart = await talk(head(line, lines) + chunk("{}"), TRAILERS);
    expect([countAnswers(apart), apart]).toEqual([1, apart]);
  });

  test("changes nothing: a session is not ended by a sign-out that comes so", async () => {
    const signedIn = await call(harness, "POST", "/auth/password", {
      body: { password: PASSWORD },
      headers: { "content-type": "application/json" },
    });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
    const raw = await talk(head("GET /auth/logout", `Cookie: ${cookie}${CRLF}`) + chunk("{}") + TRAILERS);
    expect(raw).toStartWith("HTTP/1.1 400 ");
    expect((await call(harness, "GET", "/my/keys", { headers: { cookie } })).status).toBe(200);
  });
});

test("a whole chunked body that a route leaves unread is answered, and its connection closes", async () => {
  const raw = await talk(
    `GET /healthz HTTP/1.1${CRLF}Host: localhost${CRLF}Transfer-Encoding: chunked${CRLF}${CRLF}${chunk("abc")}0${CRLF}${CRLF}`,
  );
  expect(raw).toStartWith("HTTP/1.1 200 ");
  expect(raw.toLowerCase()).toContain("\r\nconnection: close\r\n");
});
