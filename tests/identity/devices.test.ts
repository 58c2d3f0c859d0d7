import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createDevices, type Devices } from "#identity/attempts.ts";
import type { Principal } from "#identity/principal.ts";
import { issueSession } from "#identity/sessions.ts";
import { createKeyring } from "#kernel/crypto.ts";
import { openTestIdentity, refusalOf, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
let devices: Devices;
let ada: Principal;
let bob: Principal;
beforeEach(async () => {
  fixture = await openTestIdentity();
  devices = createDevices(fixture.sessions);
  ada = await fixture.principals.create({ name: "ada", role: "admin" }, null);
  bob = await fixture.principals.create({ name: "bob" }, null);
});
afterEach(() => fixture.close());

const toValue = (setCookie: string) => setCookie.split(";", 1)[0]?.slice("proxy_device=".length) ?? "";
const issue = (principal: Principal) => toValue(devices.issue(principal, { secure: false }));
const find = (value: string) => devices.find(new Headers({ cookie: `proxy_device=${value}` }));

describe("a device's cookie", () => {
  test("tells the principal that signed in with it from others, each is another one, and none says who that is", () => {
    const [first, second] = [issue(ada), issue(ada)];
    expect(find(first)?.isOf(ada)).toBe(true);
    expect(find(first)?.isOf(bob)).toBe(false);
    expect(find(first)?.id).not.toBe(find(second)?.id);
    expect(first).not.toContain(ada.id);
  });

  test("is none when it was changed anywhere, is absent, sent twice, of another installation, or a session's", async () => {
    const value = issue(ada);
    for (let index = 0; index < value.length; index += 1) {
      const changed = value.slice(0, index) + (value[index] === "A" ? "B" : "A") + value.slice(index + 1);
      expect(find(changed)).toBeNull();
    }
    const other = createDevices({ ...fixture.sessions, secrets: createKeyring(new Uint8Array(32).fill(9)) });
    expect(find(toValue(other.issue(ada, { secure: false })))).toBeNull();
    const { cookieValue } = await issueSession(fixture.sessions, ada);
    expect(find(cookieValue)).toBeNull();
    expect(devices.find(new Headers())).toBeNull();
    expect(devices.find(new Headers({ cookie: `proxy_device=${value}; proxy_device=${value}` }))).toBeNull();
  });

  test("is good for a year, and Secure where the session's is", () => {
    const value = issue(ada);
    fixture.clock.advance(365 * 86_400_000 - 1);
    expect(find(value)).not.toBeNull();
    fixture.clock.advance(1);
    expect(find(value)).toBeNull();
    expect(devices.issue(ada, { secure: true })).toEndWith("; Secure");
  });

  test("opens nothing where a session's cookie does", async () => {
    const headers = new Headers({ cookie: `proxy_session=${issue(ada)}` });
    expect(await refusalOf(() => fixture.authenticator.authenticate(headers))).toBe("missing_api_key");
  });
});
