import { afterAll, beforeAll, expect, test } from "bun:test";
import net from "node:net";
import { startApp, type TestApp } from "../support/app.ts";
import { provide } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const CRLF = "\r\n";
const ANSWER = JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } });

let upstream: ScriptedUpstream;
let app: TestApp;
let relayToken: string;

beforeAll(async () => {
  upstream = await startUpstream({ script: (call) => call.reply({ body: ANSWER }) });
  app = await startApp({ messagesBaseUrl: upstream.baseUrl.replace(/\/v1$/, "") });
  await provide(app.url, app.adminKey, { name: "up", baseUrl: upstream.baseUrl, models: { m: "real" } });
  relayToken = JSON.parse(await (await app.api("POST", "/my/relay-tokens", {})).text()).token;
});
afterAll(async () => {
  await app?.stop();
  await upstream?.stop();
});

/** All that comes back until the server closes. `later` is sent once an answer has begun to come. */
function talk(first: string, later: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = net.connect(Number(new URL(app.url).port), "127.0.0.1", () => socket.write(first));
    socket.once("data", () => socket.write(later));
    socket.on("data", (piece) => (answer += piece.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
  });
}

test.each([
  ["/v1/chat/completions", { model: "m", messages: [] }, 200],
  ["/v1/chat/completions", { model: "none", messages: [] }, 404],
  ["/transparent/messages/TOKEN/v1/messages", { model: "m", messages: [] }, 200],
  ["/my/keys", { label: "late" }, 201],
  ["/my/keys", { label: 1 }, 400],
])(
  "a chunked body at %s that was read whole (%j) has one answer when trailers follow it: its connection closes",
  async (path, body, status) => {
    const text = JSON.stringify(body);
    const head = [
      `POST ${path.replace("TOKEN", relayToken)} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${app.adminKey}`,
      "Content-Type: application/json",
      "Transfer-Encoding: chunked",
    ];
    // The runtime calls the body ended here, in the middle of the end.
    const first = `${head.join(CRLF)}${CRLF}${CRLF}${text.length.toString(16)}${CRLF}${text}${CRLF}0${CRLF}`;
    const raw = await talk(first, `X-Checksum: 1${CRLF}${CRLF}`);
    expect(raw).toStartWith(`HTTP/1.1 ${status} `);
    expect([raw.split("HTTP/1.1 ").length - 1, raw]).toEqual([1, raw]);
    expect(raw.toLowerCase()).toContain(`${CRLF}connection: close${CRLF}`);
  },
);
