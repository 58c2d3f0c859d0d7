import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Provider } from "#catalog/provider.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { CHAT, COMPLETION, CREDENTIAL } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

// A self-signed certificate for 127.0.0.1, and another one that signed nothing here.
const fixture = (name: string) => Bun.file(`${import.meta.dir}/../fixtures/tls/${name}`).text();
const [key, cert, otherCert] = await Promise.all(
  ["upstream.key.pem", "upstream.cert.pem", "other.cert.pem"].map(fixture),
);

let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream({
    tls: { key: key ?? "", cert: cert ?? "" },
    script: (call) => call.reply({ body: COMPLETION }),
  });
});
afterEach(async () => {
  await stopPairs();
  await upstream.stop();
});

async function answerOf(...providers: Partial<Provider>[]): Promise<unknown[]> {
  const { proxy } = await startPair(undefined, { baseUrl: upstream.baseUrl });
  const answers: unknown[] = [];
  for (const provider of providers) {
    proxy.replaceCatalog({ baseUrl: upstream.baseUrl, provider });
    const response = await proxy.post(CHAT);
    answers.push(response.status === 200 ? await response.text() : await response.json());
  }
  return answers;
}

test("a certificate that nobody trusts is a connection_error, and no request is sent, still less a credential", async () => {
  expect(await answerOf({ verifyTls: true })).toEqual([{ unreachable: "connection_error" }]);
  expect(upstream.requests).toHaveLength(0);
});

test("ca_pem is trusted in place of the system's roots", async () => {
  expect(await answerOf({ caPem: cert ?? "" })).toEqual([COMPLETION]);
  expect(upstream.lastRequest().headers.get("authorization")).toBe(`Bearer ${CREDENTIAL}`);
  expect(await answerOf({ caPem: otherCert ?? "" })).toEqual([{ unreachable: "connection_error" }]);
});

test("verify_tls false takes any certificate, and its connections serve nobody who verifies", async () => {
  const answers = await answerOf(
    { verifyTls: false },
    { verifyTls: true },
    { verifyTls: false },
    { caPem: otherCert ?? "" },
  );
  expect(answers).toEqual([
    COMPLETION,
    { unreachable: "connection_error" },
    COMPLETION,
    { unreachable: "connection_error" },
  ]);
  expect(upstream.requests).toHaveLength(2);
});
