import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const CREDENTIAL = "sk-upstream-secret-word";
let names = 0;
const freshName = () => `model-${(names += 1)}`;
const post = (path: string, body?: unknown) => call(harness, "POST", path, { body });

function deployment(params: Record<string, unknown> = {}, rest: Record<string, unknown> = {}) {
  return {
    model_name: freshName(),
    compat_params: { model: "llama", api_base: "http://127.0.0.1:9/v1", ...params },
    ...rest,
  };
}

interface Deployment {
  readonly model_name: string;
  readonly compat_params: Record<string, unknown>;
  readonly model_info: { readonly id: string };
}

async function register(body: unknown): Promise<Deployment> {
  const response = await post("/model/new", body);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text);
}

async function info(): Promise<Deployment[]> {
  return (await (await call(harness, "GET", "/model/info")).json()).data;
}

async function events(): Promise<string[]> {
  const { events: rows } = await (await call(harness, "GET", "/admin/v1/events?limit=500")).json();
  return rows.map((row: Record<string, string>) => `${row["action"]} ${row["target_ref"]}`);
}

describe("POST /model/new", () => {
  test("answers 200 with the deployment, which serves at once, and again 200 with the same one", async () => {
    const body = deployment({ api_base: "http://models.example:8000/v1/", api_key: CREDENTIAL });
    const made = await register(body);
    expect(made).toEqual({
      model_name: body.model_name,
      compat_params: {
        model: "llama",
        api_base: "http://models.example:8000/v1",
        custom_llm_provider: "openai",
      },
      model_info: { id: expect.any(String) },
    });
    const audited = await events();
    expect(audited.slice(0, 2)).toEqual([
      `model.create ${body.model_name}`,
      "provider.create models.example-8000",
    ]);
    expect(await register(body)).toEqual(made);
    expect(await events()).toEqual(audited);

    const listed: { data: { id: string; owned_by: string }[] } = await (
      await call(harness, "GET", "/v1/models")
    ).json();
    expect(listed.data.find(({ id }) => id === body.model_name)?.owned_by).toBe("models.example-8000");
  });

  test("takes litellm_params, nulls for what is left out, and ignores every field that it does not know", async () => {
    const made = await register({
      model_name: freshName(),
      litellm_params: {
        model: "openai/text-embedding-3-small",
        api_base: "http://127.0.0.1:9/v1",
        api_key: null,
        rpm: 5,
        input_cost_per_token: 1e-6,
      },
      model_info: { mode: "embedding", id: "my-own-id", team_id: null },
      blocked: false,
    });
    expect(made).toMatchObject({ compat_params: { model: "text-embedding-3-small" } });
    expect(made.model_info.id).not.toBe("my-own-id");
    const { capabilities } = await (
      await call(harness, "GET", `/admin/v1/resolve?model=${made.model_name}&endpoint=embeddings`)
    ).json();
    expect(capabilities).toEqual(["embeddings"]);
    // The specification's own object counts where both are sent.
    const both = { ...deployment(), litellm_params: { model: "other", api_base: "http://other.example/v1" } };
    expect(await register(both)).toMatchObject({ compat_params: { model: "llama" } });
    await register({ ...deployment(), model_info: null });
    await register({ ...deployment(), model_info: { mode: null } });
  });

  test("what /model/info shows can be posted back as it is, and is the same deployment", async () => {
    await register(deployment({ model: "openai/gpt-4o" }));
    await register(deployment({ api_base: "http://models.example:8000/v1/", api_key: CREDENTIAL }));
    const all = await info();
    expect(all.length).toBe(2);
    for (const shown of all) expect(await register(shown)).toEqual(shown);
  });

  test.each([
    [{ compat_params: { model: "a", api_base: "http://h/v1" } }, "model_name"],
    [{ model_name: 1, compat_params: { model: "a", api_base: "http://h/v1" } }, "model_name"],
    [{ model_name: "a" }, "compat_params"],
    [{ model_name: "a", compat_params: [] }, "compat_params"],
    [{ model_name: "a", compat_params: {} }, "compat_params.model"],
    [{ model_name: "a", compat_params: { model: "a" } }, "compat_params.api_base"],
    [{ model_name: "a", compat_params: { model: "a", api_base: null } }, "compat_params.api_base"],
    [{ model_name: "a", litellm_params: { model: "openai/a" } }, "litellm_params.api_base"],
    [{ ...deployment({ api_key: 1 }) }, "compat_params.api_key"],
    [{ ...deployment({ api_key: "a\nsecret-word" }) }, "compat_params.api_key"],
    [{ ...deployment(), model_info: { mode: 1 } }, "model_info"],
  ])("with %j is 400 invalid_request, and repeats no value", async (body, param) => {
    const message = await expectError(
      await post("/model/new", body),
      "400 invalid_request",
      expect.stringMatching(new RegExp(`^${param}`)),
    );
    expect(message).not.toContain("secret-word");
  });

  test.each([undefined, "{", "[]", "null", '"text"'])(
    "with the body %p is 400 and never 500",
    async (body) => {
      const response = await post("/model/new", body);
      expect([response.status, (await response.json()).error.code]).toEqual([
        400,
        expect.stringMatching(/^invalid_(json|request)$/),
      ]);
    },
  );
});

describe("GET /model/info", () => {
  test("lists every model by name: hidden ones, names for a target, those of a disabled provider, and never a credential", async () => {
    const { deps } = harness;
    const target = deployment({ api_base: "http://off.example/v1", api_key: CREDENTIAL });
    await register(target);
    const hidden = await register({ ...deployment(), model_name: "before-all-others" });
    await deps.catalog.updateModel(hidden.model_name, { hidden: true }, null);
    const name = await deps.catalog.createModel({ alias: freshName(), target: target.model_name }, null);
    await deps.catalog.updateProvider("off.example", { enabled: false }, null);

    const response = await call(harness, "GET", "/model/info");
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).not.toContain("secret-word");
    const { data } = JSON.parse(text);
    const shown: string[] = data.map(({ model_name }: { model_name: string }) => model_name);
    expect(shown).toEqual(shown.toSorted());
    expect(shown).toEqual(expect.arrayContaining([target.model_name, hidden.model_name, name.model.alias]));
    expect(data.find(({ model_name }: { model_name: string }) => model_name === name.model.alias)).toEqual({
      model_name: name.model.alias,
      compat_params: { model: "llama", api_base: "http://off.example/v1", custom_llm_provider: "openai" },
      model_info: { id: name.model.id },
    });
  });
});

describe("POST /model/delete", () => {
  test("answers with the id, is audited under the name, and knows the id no more", async () => {
    const {
      model_name,
      model_info: { id },
    } = await register(deployment());
    const response = await post("/model/delete", { id, extra: 1 });
    expect([response.status, await response.json()]).toEqual([200, { deleted: id }]);
    expect((await events())[0]).toBe(`model.delete ${model_name}`);
    expect((await info()).map((shown) => shown.model_name)).not.toContain(model_name);
    await expectError(await post("/model/delete", { id }), "404 model_not_found", "id");
  });

  test("without an id, or with one that is no text, is 400 invalid_request", async () => {
    for (const body of [{}, { id: null }, { id: 5 }]) {
      await expectError(await post("/model/delete", body), "400 invalid_request", "id");
    }
  });
});
