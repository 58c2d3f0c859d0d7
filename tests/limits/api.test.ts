import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createSetClock, startWorld, type World } from "./world.ts";

const NOBODY = "019cdd2a-7c00-7000-8000-00000000dead";
const DRAFT = { name: "a", subject: {}, measure: "cost", amount: 1, window: "day" };

let world: World;
beforeAll(async () => {
  world = await startWorld({ clock: createSetClock("2026-11-11T12:00:00Z") });
});
afterAll(async () => {
  await world.stop();
});

/** `status code param` of an answer. */
async function refusalOf(answer: Response | Promise<Response>): Promise<string> {
  const response = await answer;
  const text = await response.text();
  if (response.status < 400) return String(response.status);
  const { code, param } = JSON.parse(text).error;
  return `${response.status} ${code} ${param}`;
}

describe("a limit that cannot be is refused with its code and the field that is wrong, and nothing is made", () => {
  const cases: readonly (readonly [string, object | string, string])[] = [
    ["no body", "", "400 invalid_json null"],
    ["no object", "[]", "400 invalid_request null"],
    ["an unknown field", { ...DRAFT, sum: 1 }, "400 invalid_request sum"],
    ["no name", { ...DRAFT, name: undefined }, "400 invalid_request name"],
    ["an empty name", { ...DRAFT, name: " " }, "400 invalid_name name"],
    ["a name of 121 characters", { ...DRAFT, name: "é".repeat(121) }, "400 invalid_name name"],
    ["a name with a line feed", { ...DRAFT, name: "a\nb" }, "400 invalid_name name"],
    ["a name with NUL", { ...DRAFT, name: "a\0b" }, "400 invalid_name name"],
    ["a name with a lone surrogate", { ...DRAFT, name: "a\ud800" }, "400 invalid_name name"],
    [
      "a model with a lone surrogate",
      { ...DRAFT, subject: { model: "a\udc00" } },
      "400 invalid_request subject.model",
    ],
    ["a name that is no text", { ...DRAFT, name: 1 }, "400 invalid_request name"],
    ["no subject", { ...DRAFT, subject: undefined }, "400 invalid_request subject"],
    ["a subject that is no object", { ...DRAFT, subject: "ann" }, "400 invalid_request subject"],
    ["an unknown subject", { ...DRAFT, subject: { team: "a" } }, "400 invalid_request subject.team"],
    [
      "two subjects",
      { ...DRAFT, subject: { principal: "admin", tag: "a:b" } },
      "400 invalid_request subject",
    ],
    ["an unknown principal", { ...DRAFT, subject: { principal: "zoe" } }, "404 principal_not_found subject"],
    ["an unknown key", { ...DRAFT, subject: { key: NOBODY } }, "404 key_not_found subject"],
    [
      "an unknown relay token",
      { ...DRAFT, subject: { relay_token: NOBODY } },
      "404 relay_token_not_found subject",
    ],
    ["a tag without a colon", { ...DRAFT, subject: { tag: "team" } }, "400 invalid_request subject.tag"],
    ["an empty model", { ...DRAFT, subject: { model: "" } }, "400 invalid_request subject.model"],
    ["each of nothing", { ...DRAFT, each: "team" }, "400 invalid_request each"],
    ["each of a tag without a key", { ...DRAFT, each: "tag:" }, "400 invalid_request each"],
    [
      "fixed of a principal",
      { ...DRAFT, subject: { principal: "admin" }, fixed: true },
      "400 invalid_request fixed",
    ],
    ["fixed for each key", { ...DRAFT, each: "key", fixed: true }, "400 invalid_request fixed"],
    ["fixed that is no boolean", { ...DRAFT, each: "tag:team", fixed: "yes" }, "400 invalid_request fixed"],
    ["no measure", { ...DRAFT, measure: undefined }, "400 invalid_request measure"],
    ["an unknown measure", { ...DRAFT, measure: "money" }, "400 invalid_request measure"],
    ["no amount", { ...DRAFT, amount: undefined }, "400 invalid_request amount"],
    ["an amount of 0", { ...DRAFT, amount: 0 }, "400 invalid_request amount"],
    ["a negative amount", { ...DRAFT, amount: -1 }, "400 invalid_request amount"],
    ["13 decimals", { ...DRAFT, amount: 0.1234567890123 }, "400 invalid_request amount"],
    ["13 decimals in a power", { ...DRAFT, amount: 1e-13 }, "400 invalid_request amount"],
    ["1e300", { ...DRAFT, amount: 1e300 }, "400 invalid_request amount"],
    ["text for an amount", { ...DRAFT, amount: "NaN" }, "400 invalid_request amount"],
    ["null for an amount", { ...DRAFT, amount: null }, "400 invalid_request amount"],
    ["NaN, which is no JSON", '{"amount":NaN}', "400 invalid_json null"],
    ["half a request", { ...DRAFT, measure: "requests", amount: 0.5 }, "400 invalid_request amount"],
    ["2^53 tokens", { ...DRAFT, measure: "tokens", amount: 2 ** 53 }, "400 invalid_request amount"],
    ["no window", { ...DRAFT, window: undefined }, "400 invalid_request window"],
    ["an unknown window", { ...DRAFT, window: "year" }, "400 invalid_request window"],
    ["a window of concurrent", { ...DRAFT, measure: "concurrent", amount: 1 }, "400 invalid_request window"],
    ["an unknown action", { ...DRAFT, action: "block" }, "400 invalid_request action"],
    ["an unknown rule for what has no price", { ...DRAFT, unpriced: "no" }, "400 invalid_request unpriced"],
    [
      "a price asked of requests",
      { ...DRAFT, measure: "requests", unpriced: "refuse" },
      "400 invalid_request unpriced",
    ],
    ["unknown usage of no request", { ...DRAFT, unknown: 0 }, "400 invalid_request unknown"],
    ["unknown usage of half a request", { ...DRAFT, unknown: 1.5 }, "400 invalid_request unknown"],
    ["unknown usage that is no number", { ...DRAFT, unknown: "1" }, "400 invalid_request unknown"],
    [
      "unknown usage of concurrent",
      { ...DRAFT, measure: "concurrent", amount: 1, window: undefined, unknown: 1 },
      "400 invalid_request unknown",
    ],
    ["enabled that is no boolean", { ...DRAFT, enabled: "yes" }, "400 invalid_request enabled"],
  ];
  test.each(cases)("%s", async (_, draft, expected) => {
    expect(await refusalOf(world.admin("POST", "/limits", draft))).toBe(expected);
    expect(await (await world.admin("GET", "/limits")).json()).toMatchObject({ limits: [], total: 0 });
  });
});

describe("a limit is listed, changed and deleted by admins", () => {
  test("with exactly the fields of its shape; each and window are absent where there is none", async () => {
    const at = { window_start: "2026-11-11T00:00:00.000000Z", resets_at: "2026-11-12T00:00:00.000000Z" };
    const figures = {
      used: 0,
      left: 1,
      unpriced_requests: 0,
      unknown_requests: 0,
      refused: 0,
      last_refused_at: null,
    };
    const made = await world.limit({ ...DRAFT, name: "shape" });
    const { id } = made;
    expect(made).toEqual({
      id,
      ...DRAFT,
      name: "shape",
      action: "refuse",
      unpriced: "allow",
      enabled: true,
      sentence: "At most $1.00 a day for everybody: requests beyond it are refused.",
      ...figures,
      ...at,
    });
    const many = await world.limit({
      name: "at once",
      subject: {},
      each: "key",
      measure: "concurrent",
      amount: 1,
    });
    const none = { window_start: null, resets_at: null };
    expect(many).toEqual({
      id: many.id,
      name: "at once",
      subject: {},
      each: "key",
      measure: "concurrent",
      amount: 1,
      action: "refuse",
      enabled: true,
      sentence: "At most 1 request at once for each key: requests beyond it are refused.",
      top: [],
      ...figures,
      ...none,
    });
    const fixed = await world.limit({ ...DRAFT, name: "fixed", subject: { tag: "Team:A" }, fixed: true });
    expect(fixed).toMatchObject({ subject: { tag: "team:a" }, fixed: true });
    await world.admin("DELETE", `/limits/${fixed.id}`);
    // By name, and not by when they were made.
    for (const [offset, limit] of [many, made].entries())
      expect(await (await world.admin("GET", `/limits?limit=1&offset=${offset}`)).json()).toEqual({
        limits: [limit],
        limit: 1,
        offset,
        total: 2,
      });
    expect(await refusalOf(world.admin("POST", "/limits", { ...DRAFT, name: "shape" }))).toBe(
      "409 limit_exists name",
    );
    for (const limit of [made, many]) await world.admin("DELETE", `/limits/${limit.id}`);
  });

  test("by the subject that is asked for", async () => {
    const { keyId } = await world.person("eve");
    const token: any = await (await world.app.api("POST", "/my/relay-tokens", { label: "" })).json();
    const subjects = [
      {},
      { principal: "eve" },
      { key: keyId, model: "m" },
      { tag: "team:a" },
      { relay_token: token.id },
    ];
    for (const [index, subject] of subjects.entries())
      await world.limit({ ...DRAFT, name: `s${index}`, subject });
    const list = (subject: string) => world.admin("GET", `/limits?subject=${encodeURIComponent(subject)}`);
    const found: unknown[] = [];
    for (const subject of [
      "everybody",
      "principal:eve",
      `key:${keyId}`,
      "tag:Team:A",
      `relay_token:${token.id}`,
      "principal:nobody",
      `key:${token.id}`,
      "",
    ])
      found.push(
        JSON.parse(await (await list(subject)).text()).limits.map(({ name }: { name: string }) => name),
      );
    expect(found).toEqual([["s0"], ["s1"], ["s2"], ["s3"], ["s4"], [], [], ["s0", "s1", "s2", "s3", "s4"]]);
    for (const subject of ["team:a", keyId, "eve", "principal:", "principal", "tag:team", "model:m", "Key:x"])
      expect([subject, await refusalOf(list(subject))]).toEqual([subject, "400 invalid_request subject"]);
    for (const { id } of JSON.parse(await (await world.admin("GET", "/limits")).text()).limits)
      await world.admin("DELETE", `/limits/${id}`);
  });

  test("each change is in the audit log, and holds from the next request on", async () => {
    const { id } = await world.limit({ ...DRAFT, name: "audited", measure: "requests" });
    expect((await world.chat()).status).toBe(200);
    expect((await world.chat()).status).toBe(429);
    const changed = await world.admin("PATCH", `/limits/${id}`, { amount: 2, name: "changed" });
    expect(await changed.json()).toMatchObject({ amount: 2, name: "changed", used: 1, left: 1 });
    expect((await world.chat()).status).toBe(200);
    await world.admin("PATCH", `/limits/${id}`, { enabled: false });
    expect((await world.chat()).status).toBe(200);
    expect(await (await world.admin("PATCH", `/limits/${id}`, { enabled: true })).json()).toMatchObject({
      used: 3,
    });
    expect((await world.chat()).status).toBe(429);
    expect(await refusalOf(world.admin("DELETE", `/limits/${id}`))).toBe("200");
    expect((await world.chat()).status).toBe(200);
    const events = JSON.parse(await (await world.admin("GET", "/events?limit=5")).text()).events;
    expect(
      events.map(({ action, target_kind, target_ref }: Record<string, string>) => [
        action,
        target_kind,
        target_ref,
      ]),
    ).toEqual(
      ["limit.delete", "limit.update", "limit.update", "limit.update", "limit.create"].map((action) => [
        action,
        "limit",
        id,
      ]),
    );
  });

  test("a limit that is not there is 404 limit_not_found, whatever is asked of it", async () => {
    const path = `/limits/${NOBODY}`;
    const asked = [
      world.admin("GET", path),
      world.admin("GET", `${path}/usage`),
      world.admin("PATCH", path, { amount: 1 }),
      world.admin("DELETE", path),
    ];
    for (const answer of asked) expect(await refusalOf(answer)).toBe("404 limit_not_found null");
  });

  test("subject, each and measure cannot be changed, and a change that cannot be leaves everything as it was", async () => {
    const { id } = await world.limit({ ...DRAFT, name: "fixed" });
    const other = await world.limit({ ...DRAFT, name: "other" });
    const cases: readonly (readonly [object, string])[] = [
      [{ subject: {} }, "400 invalid_request subject"],
      [{ measure: "tokens" }, "400 invalid_request measure"],
      [{ each: "key" }, "400 invalid_request each"],
      [{ fixed: true }, "400 invalid_request fixed"],
      [{ name: "other" }, "409 limit_exists name"],
      [{ name: "" }, "400 invalid_name name"],
      [{ name: "\udc00" }, "400 invalid_name name"],
      [{ amount: -1 }, "400 invalid_request amount"],
      [{ window: "year" }, "400 invalid_request window"],
      [{ window: null }, "400 invalid_request window"],
    ];
    for (const [patch, expected] of cases)
      expect(await refusalOf(world.admin("PATCH", `/limits/${id}`, patch))).toBe(expected);
    expect(await world.readLimit(id)).toMatchObject({ name: "fixed", amount: 1, window: "day" });
    for (const limit of [id, other.id]) await world.admin("DELETE", `/limits/${limit}`);
  });

  test("a limit goes with its principal and with its key", async () => {
    const { id, keyId } = await world.person("max");
    await world.limit({ ...DRAFT, name: "of max", subject: { principal: "max" } });
    await world.limit({ ...DRAFT, name: "of a key", subject: { key: keyId } });
    await world.admin("DELETE", `/keys/${keyId}`);
    const names = async () =>
      JSON.parse(await (await world.admin("GET", "/limits")).text()).limits.map(
        (limit: { name: string }) => limit.name,
      );
    expect(await names()).toEqual(["of max"]);
    await world.admin("DELETE", `/principals/${id}`);
    expect(await names()).toEqual([]);
  });
});

describe("what was used is told exactly", () => {
  test("an amount of twelve decimals comes back as it was written", async () => {
    for (const amount of [1e-12, 0.000000000001, 0.1, 50, 123456.789012345, 1e12]) {
      const { id, ...limit } = await world.limit({ ...DRAFT, name: `n${amount}`, amount });
      expect(limit["amount"]).toBe(amount);
      await world.admin("DELETE", `/limits/${id}`);
    }
  });

  test("by each that a limit holds for, the most used first, page by page", async () => {
    const people = [await world.person("p1"), await world.person("p2"), await world.person("p3")];
    const { id } = await world.limit({
      ...DRAFT,
      name: "each",
      each: "principal",
      measure: "requests",
      amount: 5,
    });
    for (const [index, { key }] of people.entries())
      for (let count = 0; count <= index; count += 1) await world.chat({ key });
    const all = JSON.parse(await (await world.admin("GET", `/limits/${id}/usage`)).text());
    expect(all.usage.slice(0, 4)).toContainEqual({
      principal: "p3",
      used: 3,
      left: 2,
      unpriced_requests: 0,
      unknown_requests: 0,
    });
    const own = all.usage.filter(({ principal }: { principal: string }) => principal.startsWith("p"));
    expect(own.map(({ principal, used }: { principal: string; used: number }) => [principal, used])).toEqual([
      ["p3", 3],
      ["p2", 2],
      ["p1", 1],
    ]);
    const page = JSON.parse(await (await world.admin("GET", `/limits/${id}/usage?limit=1&offset=1`)).text());
    expect(page).toEqual({ usage: [all.usage[1]], limit: 1, offset: 1, total: all.total });
    await world.admin("DELETE", `/limits/${id}`);
  });

  test("to a caller its own limits with its own use, and nothing of another person", async () => {
    const [ann, bob] = [await world.person("own-ann"), await world.person("own-bob")];
    const draft = { measure: "requests", amount: 1000, window: "day" };
    const names = ["all", "ann's", "bob's", "each", "keys", "teams", "off"];
    const subjects = [{}, { principal: ann.name }, { principal: bob.name }, {}, {}, { tag: "team:a" }, {}];
    const more = [{}, {}, {}, { each: "principal" }, { each: "key" }, {}, { enabled: false }];
    const made = [];
    for (const [index, name] of names.entries())
      made.push(await world.limit({ name, subject: subjects[index], ...more[index], ...draft }));
    await world.chat({ key: ann.key });
    for (let count = 0; count < 3; count += 1) await world.chat({ key: bob.key });
    const answer = await world.app.api("GET", "/my/limits", undefined, {
      authorization: `Bearer ${ann.key}`,
    });
    const text = await answer.text();
    const figures = JSON.parse(text).limits.map((limit: Record<string, unknown>) => [
      limit["name"],
      limit["used"],
      limit["left"],
    ]);
    expect(figures.slice(1)).toEqual([
      ["ann's", 1, 999],
      ["each", 1, 999],
      ["keys", 1, 999],
    ]);
    expect(figures[0]?.[0]).toBe("all");
    expect(text).not.toContain("own-bob");
    expect(text).not.toContain(bob.keyId);
    expect(text).not.toContain('"refused"');
    for (const { id } of made) await world.admin("DELETE", `/limits/${id}`);
  });

  test("to a caller the limits of tags that are fixed on it or on its keys, and not of those that it sends", async () => {
    const [cleo, dora] = [await world.person("tag-cleo"), await world.person("tag-dora")];
    await world.admin("PATCH", `/principals/${cleo.id}`, { tags: ["team:red"] });
    await world.admin("PATCH", `/keys/${dora.keyId}`, { tags: ["team:blue"] });
    // Her key's own comes first on its requests, and those of her other keys and of her session have this one.
    await world.admin("PATCH", `/principals/${dora.id}`, { tags: ["team:pink"] });
    const draft = { measure: "requests", amount: 1000, window: "day" };
    const red = { subject: { tag: "team:red" } };
    const drafts = {
      each: { subject: {}, each: "tag:team", fixed: true },
      fixed: { ...red, fixed: true },
      open: red,
      "open-each": { subject: {}, each: "tag:team" },
      other: { subject: { tag: "team:green" } },
      "other-each": { subject: {}, each: "tag:app" },
      people: { ...red, each: "principal" },
    };
    const made = [];
    for (const [name, more] of Object.entries(drafts))
      made.push(await world.limit({ name: `tag-${name}`, ...draft, ...more }));
    await world.chat({ key: cleo.key });
    for (let count = 0; count < 3; count += 1) await world.chat({ key: dora.key, tags: "team:green,app:a" });
    await world.chat({ key: (await world.person("tag-ella")).key, tags: "team:red" });
    const listOf = async ({ key }: { readonly key: string }) => {
      const answer = await world.app.api("GET", "/my/limits", undefined, { authorization: `Bearer ${key}` });
      return JSON.parse(await answer.text()).limits.map((limit: Record<string, unknown>) => [
        limit["name"],
        limit["used"],
        limit["top"],
      ]);
    };
    const none = { left: expect.any(Number), unpriced_requests: 0, unknown_requests: 0 };
    expect(await listOf(cleo)).toEqual([
      ["tag-each", 1, [{ tag: "team:red", used: 1, ...none }]],
      ["tag-fixed", 1, undefined],
      ["tag-open", 2, undefined],
      ["tag-open-each", 2, [{ tag: "team:red", used: 2, ...none }]],
      ["tag-people", 1, undefined],
    ]);
    const pink = { tag: "team:pink", used: 0, ...none };
    expect(await listOf(dora)).toEqual([
      ["tag-each", 3, [{ tag: "team:blue", used: 3, ...none }, pink]],
      ["tag-open-each", 3, [{ tag: "team:blue", used: 3, ...none }, pink]],
    ]);
    for (const { id } of made) await world.admin("DELETE", `/limits/${id}`);
  });
});
