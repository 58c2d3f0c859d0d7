import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ADMIN, ALL, openTestIdentity, refusalOf, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
beforeEach(async () => {
  fixture = await openTestIdentity();
});
afterEach(() => fixture.close());

const names = async () => (await fixture.principals.list(ALL)).rows.map(({ name }) => name);

describe("principals", () => {
  test("are users and members unless something else is said, and enabled", async () => {
    const made = await fixture.principals.create({ name: "mia" }, ADMIN);
    expect(made).toMatchObject({ name: "mia", kind: "user", role: "member", enabled: true });
    expect(await fixture.principals.getByName("mia")).toEqual(made);
    expect(await fixture.audited()).toEqual([`principal.create principal ${made.id}`]);
  });

  test.each(["", "Mia", "-mia", "m ia", "mia\n", "m/ia", "ü", "x".repeat(121)])(
    "named %p are invalid_name",
    async (name) => {
      expect(await refusalOf(() => fixture.principals.create({ name }, ADMIN))).toBe("invalid_name name");
      expect(await names()).toEqual([]);
      expect(await fixture.audited()).toEqual([]);
    },
  );

  test("of an unknown kind or role are invalid_request", async () => {
    expect(await refusalOf(() => fixture.principals.create({ name: "a", kind: "robot" }, ADMIN))).toBe(
      "invalid_request kind",
    );
    expect(await refusalOf(() => fixture.principals.create({ name: "a", role: "root" }, ADMIN))).toBe(
      "invalid_request role",
    );
    const { id } = await fixture.principals.create({ name: "a" }, null);
    expect(await refusalOf(() => fixture.principals.update(id, { role: "root" }, ADMIN))).toBe(
      "invalid_request role",
    );
    expect(await fixture.audited()).toEqual([]);
  });

  test("have names of their own", async () => {
    await fixture.principals.create({ name: "mia" }, null);
    expect(await refusalOf(() => fixture.principals.create({ name: "mia", role: "admin" }, ADMIN))).toBe(
      "principal_exists name",
    );
    expect((await fixture.principals.getByName("mia")).role).toBe("member");
    expect(await fixture.audited()).toEqual([]);
  });

  test("are listed by name, a page at a time", async () => {
    for (const name of ["mia", "ada", "zoe"]) await fixture.principals.create({ name }, null);
    expect(await names()).toEqual(["ada", "mia", "zoe"]);
    const page = await fixture.principals.list({ limit: 1, offset: 1 });
    expect([page.total, page.rows.map(({ name }) => name)]).toEqual([3, ["mia"]]);
  });

  test("that are not there are principal_not_found to each question and change", async () => {
    const { principals } = fixture;
    expect(await refusalOf(() => principals.getByName("none"))).toBe("principal_not_found principal");
    expect(await refusalOf(() => principals.update("none", { enabled: false }, ADMIN))).toBe(
      "principal_not_found",
    );
    expect(await refusalOf(() => principals.delete("none", ADMIN))).toBe("principal_not_found");
    expect(await refusalOf(() => principals.revokeSessions("none", ADMIN))).toBe("principal_not_found");
    expect(await fixture.audited()).toEqual([]);
  });

  test("change, go and lose their sessions with an audit entry each", async () => {
    const { id } = await fixture.principals.create({ name: "mia" }, null);
    await fixture.principals.update(id, { role: "admin", enabled: false }, ADMIN);
    expect(await fixture.principals.getByName("mia")).toMatchObject({ role: "admin", enabled: false });
    expect(await fixture.principals.revokeSessions(id, ADMIN)).toBe(0);
    await fixture.principals.delete(id, ADMIN);
    expect(await names()).toEqual([]);
    expect(await fixture.audited()).toEqual([
      `principal.update principal ${id}`,
      `session.revoke principal ${id}`,
      `principal.delete principal ${id}`,
    ]);
  });

  test("always keep one enabled admin among them", async () => {
    const { principals } = fixture;
    const last = await principals.create({ name: "ada", role: "admin" }, null);
    const disabled = await principals.create({ name: "abe", role: "admin" }, null);
    await principals.update(disabled.id, { enabled: false }, null);
    expect(await refusalOf(() => principals.update(last.id, { role: "member" }, ADMIN))).toBe("last_admin");
    expect(await refusalOf(() => principals.update(last.id, { enabled: false }, ADMIN))).toBe("last_admin");
    expect(await refusalOf(() => principals.delete(last.id, ADMIN))).toBe("last_admin");
    expect(await principals.getByName("ada")).toEqual(last);
    expect(await fixture.audited()).toEqual([]);
  });

  test("get the admin of the password once: it is made when missing and left as it is otherwise", async () => {
    const { principals } = fixture;
    const [first, second] = await Promise.all([principals.ensureAdmin(), principals.ensureAdmin()]);
    expect(first).toEqual(second);
    expect(first).toMatchObject({ name: "admin", kind: "user", role: "admin", enabled: true });
    await principals.create({ name: "ada", role: "admin" }, null);
    await principals.update(first.id, { enabled: false }, null);
    expect((await principals.ensureAdmin()).enabled).toBe(false);
  });
});
