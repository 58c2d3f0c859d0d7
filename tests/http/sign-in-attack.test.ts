import { afterEach, beforeEach, expect, test } from "bun:test";
import net from "node:net";
import { call, PASSWORD, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const STRANGER = "127.0.0.2";
const OWNER = "127.0.0.3";

/** The status of a sign-in from another address of this machine. */
function trySignIn(localAddress: string, password: string, headers = ""): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const body = JSON.stringify({ password });
  let answer = "";
  const socket = net.connect({ port: harness.port, host: "127.0.0.1", localAddress }, () =>
    socket.write(
      `POST /auth/password HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
  socket.on("data", (chunk) => (answer += chunk.toString()));
  // Some still wait for their turn when the test ends.
  socket.on("error", () => {});
  socket.on("close", () => resolve(Number(answer.split(" ")[1])));
  return promise;
}

const linesOf = (message: string) =>
  harness.logLines.map((line) => JSON.parse(line)).filter((line) => line.message === message);

test("a right password is let in beside dozens of wrong ones from another address, and the log tells both from where", async () => {
  const wrong = Array.from({ length: 60 }, (_, index) => trySignIn(STRANGER, `guess number ${index}`));
  // Those for which the stranger's line has no room are answered first.
  expect(await Promise.any(wrong)).toBe(401);
  const right = await Promise.all([trySignIn(OWNER, PASSWORD), trySignIn(OWNER, PASSWORD)]);
  expect(right).toEqual([200, 200]);

  expect(linesOf("signed in")).toEqual(
    right.map(() => expect.objectContaining({ way: "password", principal: "admin", address: OWNER })),
  );
  const failures = [...linesOf("a sign-in failed"), ...linesOf("many sign-ins from one address fail")];
  expect(failures.length).toBeGreaterThan(0);
  expect(failures.length).toBeLessThan(10);
  for (const line of failures) expect(line).toMatchObject({ way: "password", address: STRANGER });
  expect(harness.logLines.join("")).not.toMatch(/guess number|battery/);
});

test("a right password is let in beside dozens of wrong ones from the same address, from a browser that signed in before and from one that did not", async () => {
  const before = await call(harness, "POST", "/auth/password", {
    body: { password: PASSWORD },
    headers: { "content-type": "application/json" },
  });
  const device = before.headers.getSetCookie().find((cookie) => cookie.startsWith("proxy_device="));
  expect(device).toBeDefined();
  const known = `Cookie: ${device?.split(";", 1)[0]}\r\n`;
  const wrong = Array.from({ length: 60 }, (_, index) => trySignIn(OWNER, `guess number ${index}`));
  expect(await Promise.any(wrong)).toBe(401);
  const right = [known, known, "User-Agent: Mozilla/5.0\r\n"].map((headers) =>
    trySignIn(OWNER, PASSWORD, headers),
  );
  expect(await Promise.all(right)).toEqual([200, 200, 200]);
  // The device alone opens nothing.
  expect(await trySignIn(OWNER, "a wrong password", known)).toBe(401);
});
