import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ModelView, ProviderView } from "#http/schemas/catalog.ts";
import { PrincipalChanged } from "#http/schemas/identity.ts";
import { LimitView } from "#http/schemas/limits.ts";
import { STORED_FIELDS, type StoredKind, toEntityTag } from "#views/entity-tag.ts";
import { callApi } from "../support/installation.ts";
import { expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
  await make("/providers", { name: "acme", base_url: "http://127.0.0.1:9/v1" });
  await make("/models", { alias: "team/fast", provider: "acme", upstream_name: "m" });
});
afterEach(() => harness.stop());

async function send(method: string, path: string, body?: unknown, ifMatch?: string): Promise<Response> {
  return await callApi(harness.url, harness.adminKey, method, `/admin/v1${path}`, body, {
    ...(ifMatch !== undefined && { "if-match": ifMatch }),
  });
}

async function make(path: string, body: unknown): Promise<any> {
  const response = await send("POST", path, body);
  expect(response.status).toBe(201);
  return await response.json();
}

interface Resource {
  readonly kind: StoredKind;
  readonly list: string;
  /** Its path. */
  readonly prepare: () => Promise<string>;
  /** Two changes that each move its tag. */
  readonly changes: readonly [object, object];
}

const RESOURCES: readonly Resource[] = [
  {
    kind: "limit",
    list: "limits",
    prepare: async () => {
      const draft = { name: "month", subject: {}, measure: "requests", amount: 5, window: "month" };
      return `/limits/${(await make("/limits", draft)).id}`;
    },
    changes: [{ amount: 6 }, { amount: 7 }],
  },
  {
    kind: "model",
    list: "models",
    prepare: async () => "/models/team%2Ffast",
    changes: [{ pricing: { input_tokens: 1 } }, { pricing: { input_tokens: 2 } }],
  },
  {
    kind: "provider",
    list: "providers",
    prepare: async () => "/providers/acme",
    changes: [{ timeout_read: 61 }, { endpoints: { chat: "http://127.0.0.1:9/other" } }],
  },
  {
    kind: "principal",
    list: "principals",
    prepare: async () => `/principals/${(await make("/principals", { name: "robin" })).id}`,
    changes: [{ role: "admin" }, { enabled: false }],
  },
];

/** `ETag` of an answer, which is one of its view. */
async function tagOf(answer: Promise<Response>, kind: StoredKind): Promise<string> {
  const response = await answer;
  expect(response.status).toBe(200);
  const tag = response.headers.get("etag") ?? "";
  const view: any = await response.json();
  expect(tag).toBe(toEntityTag(kind, view));
  return tag;
}

describe.each(RESOURCES)("a change of a $kind with If-Match", ({ kind, list, prepare, changes }) => {
  const [first, second] = changes;

  test("is made while nothing else was changed, and is 412 changed_meanwhile afterwards, with nothing changed", async () => {
    const path = await prepare();
    const before = await tagOf(send("PATCH", path, {}), kind);
    const after = await tagOf(send("PATCH", path, first, before), kind);
    expect(after).not.toBe(before);

    const refused = await send("PATCH", path, second, before);
    expect(refused.headers.get("etag")).toBe(after);
    await expectError(refused, "412 changed_meanwhile");
    expect(await tagOf(send("PATCH", path, {}), kind)).toBe(after);
    await expectError(await send("DELETE", path, undefined, before), "412 changed_meanwhile");
    expect(await tagOf(send("PATCH", path, {}, after), kind)).toBe(after);
    expect((await send("DELETE", path, undefined, `"other", ${after}`)).status).toBe(200);
  });

  test("is not looked at without the header, and fits anything as *", async () => {
    const path = await prepare();
    await tagOf(send("PATCH", path, first), kind);
    await tagOf(send("PATCH", path, second, "*"), kind);
    expect((await send("DELETE", path)).status).toBe(200);
  });

  test("is made once of many that come at the same time from the same state", async () => {
    const path = await prepare();
    const before = await tagOf(send("PATCH", path, {}), kind);
    const answers = await Promise.all(Array.from({ length: 8 }, () => send("PATCH", path, first, before)));
    const statuses = answers.map(({ status }) => status).sort((one, other) => one - other);
    expect(statuses).toEqual([200, ...Array.from({ length: 7 }, () => 412)]);
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  });

  test("is told apart by a row of the list as well, from which the page makes it", async () => {
    const path = await prepare();
    const tag = await tagOf(send("PATCH", path, first), kind);
    const listed: any = await (await send("GET", `/${list}`)).json();
    const rows: any[] = listed[list];
    // A list leaves endpoints out; a provider is changed from its own answer.
    if (kind === "provider") expect(await tagOf(send("GET", path), kind)).toBe(tag);
    else expect(rows.map((row) => toEntityTag(kind, row))).toContain(tag);
  });
});

test("what was used of a limit does not move its tag", async () => {
  const draft = { name: "day", subject: {}, measure: "requests", amount: 5, window: "day" };
  const limit = await make("/limits", draft);
  expect(toEntityTag("limit", { ...limit, used: 4, left: 1, refused: 7, resets_at: null })).toBe(
    toEntityTag("limit", limit),
  );
});

test("every field of a view is in its tag, or follows from those, or is never changed, or moves by itself", () => {
  const VIEWS = { limit: LimitView, model: ModelView, provider: ProviderView, principal: PrincipalChanged };
  const FIXED = ["id", "created_at", "wire_format", "origin"];
  const DERIVED = ["sentence"];
  const MOVING =
    "used left unpriced_requests unknown_requests window_start resets_at top refused last_refused_at former_credential_until";
  for (const kind of ["limit", "model", "provider", "principal"] as const) {
    const known = new Set<string>([...STORED_FIELDS[kind], ...FIXED, ...DERIVED, ...MOVING.split(" ")]);
    const schema: { readonly properties: object } = VIEWS[kind];
    expect([kind, Object.keys(schema.properties).filter((field) => !known.has(field))]).toEqual([kind, []]);
  }
});
