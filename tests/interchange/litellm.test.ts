import { describe, expect, test } from "bun:test";
import { describePrices, describeRoute } from "#interchange/catalog-text.ts";
import { parseLitellmConfig } from "#interchange/litellm-config.ts";
import { planImport, type ImportPlan } from "#interchange/litellm-plan.ts";
import type { Variables } from "#interchange/litellm-values.ts";

function plan(text: string, variables: Variables = {}): ImportPlan {
  const parsed = parseLitellmConfig(text, variables);
  if (parsed.kind === "refused") throw new Error(JSON.stringify(parsed.problems));
  return planImport(parsed.config, { lockport_catalog: 1 }, () => null);
}

/** Without any key. */
function lines({ file: { providers = {}, models = {} }, keySources }: ImportPlan): readonly string[] {
  return [
    ...Object.entries(providers).map(([name, { base_url, timeout_read }]) => {
      const source = keySources.get(name);
      const key = source === undefined ? "no API key" : `API key from ${source}`;
      const timeout = timeout_read === undefined ? "" : `; timeout_read: ${timeout_read}`;
      return `add provider ${name}: ${base_url}; ${key}${timeout}`;
    }),
    ...Object.entries(models).map(([alias, { capabilities, prices, hidden, ...route }]) => {
      const details = [
        describeRoute(route),
        ...(capabilities === undefined ? [] : [capabilities.join(", ")]),
        ...(prices === undefined ? [] : [describePrices(prices)]),
        ...(hidden === true ? ["hidden"] : []),
      ];
      return `add model ${alias}: ${details.join("; ")}`;
    }),
  ];
}

const notes = (planned: ImportPlan) => planned.notes.map(({ line, sentence }) => `${line}: ${sentence}`);
const gapsOf = (planned: ImportPlan) => planned.notes.filter(({ isGap }) => isGap).length;

/** A deployment in one line. */
const model = (name: string, params: string, info = "") =>
  `  - {model_name: "${name}", litellm_params: {${params}}${info === "" ? "" : `, model_info: {${info}}`}}\n`;
const config = (...models: readonly string[]) => `model_list:\n${models.join("")}`;

describe("a model of a LiteLLM config", () => {
  const carried: readonly (readonly [params: string, info: string, route: string, baseUrl: string])[] = [
    ["model: openai/gpt-x", "", "api.openai.com: gpt-x; chat, chat_stream", "https://api.openai.com/v1"],
    ["model: gpt-x", "", "api.openai.com: gpt-x; chat, chat_stream", "https://api.openai.com/v1"],
    [
      "model: text-embedding-3-small",
      "",
      "api.openai.com: text-embedding-3-small; embeddings",
      "https://api.openai.com/v1",
    ],
    ...["whisper-1", "tts-1-hd", "dall-e-3", "omni-moderation-latest", "text-moderation-stable"].map(
      (name, index) =>
        [
          `model: ${name}`,
          "",
          `api.openai.com: ${name}; ${["transcription", "speech", "images", "moderation", "moderation"][index]}`,
          "https://api.openai.com/v1",
        ] as const,
    ),
    ["model: openai/responses/gpt-5", "", "api.openai.com: gpt-5; responses", "https://api.openai.com/v1"],
    [
      "model: responses/gpt-5, custom_llm_provider: openai",
      "mode: responses",
      "api.openai.com: gpt-5; responses",
      "https://api.openai.com/v1",
    ],
    [
      "model: openai/responses/gpt-5",
      "mode: chat, supports_vision: true",
      "api.openai.com: gpt-5; chat, chat_stream, vision, responses",
      "https://api.openai.com/v1",
    ],
    [
      "model: azure/responses/d1, api_base: 'https://team.openai.azure.com'",
      "",
      "team.openai.azure.com: d1; responses",
      "https://team.openai.azure.com/openai/v1",
    ],
    [
      "model: openai/any, api_base: 'http://10.0.0.1:8000/v1/'",
      "mode: embedding",
      "10.0.0.1-8000: any; embeddings",
      "http://10.0.0.1:8000/v1",
    ],
    [
      "model: org/any, custom_llm_provider: openai",
      "mode: completion",
      "api.openai.com: org/any; completions",
      "https://api.openai.com/v1",
    ],
    [
      "model: text-completion-openai/old",
      "",
      "api.openai.com: old; completions",
      "https://api.openai.com/v1",
    ],
    [
      "model: openrouter/openai/gpt-x",
      "supports_vision: true",
      "openrouter.ai: openai/gpt-x; chat, chat_stream, vision",
      "https://openrouter.ai/api/v1",
    ],
    [
      "model: together_ai/org/m",
      "",
      "api.together.xyz: org/m; chat, chat_stream",
      "https://api.together.xyz/v1",
    ],
    ["model: groq/llama", "", "api.groq.com: llama; chat, chat_stream", "https://api.groq.com/openai/v1"],
    [
      "model: fireworks_ai/short",
      "",
      "api.fireworks.ai: accounts/fireworks/models/short; chat, chat_stream",
      "https://api.fireworks.ai/inference/v1",
    ],
    ["model: ollama/llama", "", "localhost-11434: llama; chat, chat_stream", "http://localhost:11434/v1"],
    [
      "model: ollama_chat/llama, api_base: 'http://10.0.0.1:11434/'",
      "",
      "10.0.0.1-11434: llama; chat, chat_stream",
      "http://10.0.0.1:11434/v1",
    ],
    [
      "model: ollama/llama, api_base: 'http://10.0.0.1:11434/v1'",
      "",
      "10.0.0.1-11434: llama; chat, chat_stream",
      "http://10.0.0.1:11434/v1",
    ],
    [
      "model: hosted_vllm/Qwen/Q, api_base: os.environ/VLLM",
      "",
      "10.0.0.9-8000: Qwen/Q; chat, chat_stream",
      "http://10.0.0.9:8000/v1",
    ],
    [
      "model: gemini/gemini-pro",
      "",
      "generativelanguage.googleapis.com: gemini-pro; chat, chat_stream",
      "https://generativelanguage.googleapis.com/v1beta/openai",
    ],
    [
      "model: anthropic/claude-x",
      "supports_vision: true",
      "api.anthropic.com: claude-x; chat, chat_stream, vision, messages",
      "https://api.anthropic.com/v1",
    ],
    [
      "model: claude-x, api_base: 'https://api.anthropic.com'",
      "",
      "api.anthropic.com: claude-x; chat, chat_stream, messages",
      "https://api.anthropic.com/v1",
    ],
    ...["", "/", "/v1", "/v1/messages"].map(
      (path) =>
        [
          `model: anthropic/claude-x, api_base: 'http://10.0.0.1/gate${path}'`,
          "",
          "10.0.0.1: claude-x; messages",
          "http://10.0.0.1/gate/v1",
        ] as const,
    ),
    [
      "model: perplexity/sonar",
      "",
      "api.perplexity.ai: sonar; chat, chat_stream",
      "https://api.perplexity.ai",
    ],
  ];
  for (const [mode, capability] of [
    ["responses", "responses"],
    ["audio_transcription", "transcription"],
    ["audio_speech", "speech"],
    ["image_generation", "images"],
    ["moderation", "moderation"],
    ["rerank", "rerank"],
  ] as const) {
    test(`of mode ${mode} is carried over with ${capability} alone, and a model that is there keeps what it has`, () => {
      const text = config(model("m", "model: openai/any", `mode: ${mode}, supports_vision: true`));
      const planned = plan(text);
      expect(lines(planned)[1]).toBe(`add model m: api.openai.com: any; ${capability}`);
      expect(notes(planned)).toEqual([expect.stringContaining("OPENAI_API_KEY")]);

      const parsed = parseLitellmConfig(text, {});
      if (parsed.kind === "refused") throw new Error("it is one");
      const bound = { provider: "api.openai.com", upstream_name: "any", capabilities: ["chat"] } as const;
      const current = {
        lockport_catalog: 1 as const,
        providers: { "api.openai.com": { base_url: "https://api.openai.com/v1" } },
        models: { m: { ...bound, capabilities: [...bound.capabilities] } },
      };
      const again = planImport(parsed.config, current, () => null);
      expect(again.file.models).toEqual({});
      expect(notes(again).join()).toContain("m: is there already and keeps its capabilities (chat).");
    });
  }

  test("that LiteLLM switches to the Responses API is noted where nothing says that it serves chat as well", () => {
    const params = "model: openai/responses/gpt-5, api_key: k";
    expect(notes(plan(config(model("m", params))))).toEqual([
      "2: m: serves the Responses API alone: chat completions are not translated to it here.",
    ]);
    expect(notes(plan(config(model("m", params, "mode: chat"))))).toEqual([]);
    expect(notes(plan(config(model("m", params, "mode: realtime"))))).toEqual([
      expect.stringContaining("2: m: is not carried over: no endpoint here serves its mode"),
    ]);
  });

  test("without a mode is taken for what its name says, and that is noted", () => {
    const names = {
      "whisper-1": ["transcription"],
      "tts-1": ["speech"],
      "gpt-image-1": ["images"],
      "omni-moderation-latest": ["moderation"],
      "gpt-5-codex": ["responses"],
      "text-embedding-3-small": ["embeddings"],
      // Nothing serves these, and their names have always been taken for chat.
      "gpt-realtime": ["chat", "chat_stream"],
      "gpt-5": ["chat", "chat_stream"],
    };
    for (const [name, capabilities] of Object.entries(names)) {
      const planned = plan(config(model("m", `model: openai/${name}, api_key: k`)));
      expect([name, planned.file.models?.["m"]?.capabilities]).toEqual([name, capabilities as never]);
      expect(notes(planned)).toEqual(
        capabilities.includes("chat")
          ? []
          : [`2: m: is taken for a model for ${capabilities[0]} by its name; model_info.mode would say it.`],
      );
    }
    const said = plan(config(model("m", "model: openai/whisper-1, api_key: k", "mode: chat")));
    expect(said.file.models?.["m"]?.capabilities).toEqual(["chat", "chat_stream"]);
    expect(notes(said)).toEqual([]);
  });

  for (const [params, info, route, baseUrl] of carried) {
    test(`{${params}}${info === "" ? "" : ` with {${info}}`} becomes ${route}`, () => {
      const planned = plan(config(model("m", params, info)), { VLLM: "http://10.0.0.9:8000/v1" });
      const [provider, added] = lines(planned);
      expect(added).toBe(`add model m: ${route}`);
      expect(provider).toStartWith(`add provider ${route.split(": ")[0]}: ${baseUrl}; `);
    });
  }

  const left: readonly (readonly [name: string, params: string, info: string, reason: string])[] = [
    ["m", "model: azure/x", "", "Azure wants the address of a resource"],
    ["m", "model: azure/x, api_base: 'https://x.openai.azure.com', tenant_id: t", "", "tokens of Entra ID"],
    ["m", "model: azure/x, api_base: 'https://gateway.example.org'", "", "Azure wants the address"],
    ["m", "model: bedrock/x", "", "Bedrock wants each request signed (AWS Signature Version 4)"],
    ["m", "model: bedrock/x, aws_region_name: us-east-1, aws_access_key_id: a", "", "Signature Version 4"],
    ["m", "model: bedrock/x, api_key: k", "", "aws_region_name"],
    ["m", "model: bedrock/x, api_key: k, aws_region_name: 'x.example.org/'", "", "aws_region_name"],
    ["m", "model: bedrock/x, api_key: k, api_base: 'https://bedrock.example.org/v1'", "", "Bedrock wants"],
    ["m", "model: bedrock/titan-embed, api_key: k, aws_region_name: us-east-1", "", "has no embeddings"],
    ["m", "model: vertex_ai/x, vertex_project: p, vertex_location: l", "", "tokens that live for an hour"],
    ["m", "model: vertex_ai/x, api_key: k, api_base: 'https://x.example.org/endpoints/openapi'", "", "hour"],
    ["m", "model: nobody/x", "", "what stands before the first slash of its model is no provider"],
    ["m", "model: nobody-x", "", "its model names no provider, and is none that LiteLLM knows by itself"],
    ["m", "model: hosted_vllm/x", "", "it has no api_base"],
    [
      "m",
      "model: openai/x, api_base: os.environ/NOT_SET",
      "",
      "the variable NOT_SET for its base URL is not set",
    ],
    ["m", "model: openai/x, api_base: 'ftp://x/v1'", "", "no full http or https URL"],
    ["m", "model: openai/x, api_base: 'http://169.254.169.254/v1'", "", "no full http or https URL"],
    ["m", "model: gemini/x, api_base: 'https://x.example.org'", "", "the provider's own dialect"],
    ["m", "model: openai/x", "mode: realtime", "no endpoint here serves its mode"],
    ["m", "model: openai/sora-2", "mode: video_generation", "no endpoint here serves its mode"],
    ["m", "model: openai/x", "mode: constructor", "no endpoint here serves its mode"],
    [
      "m",
      "model: bedrock/x, api_key: k, aws_region_name: us-east-1",
      "mode: rerank",
      "Bedrock's OpenAI-compatible address has no rerank",
    ],
    ["org/*", "model: openai/*", "", "a wildcard"],
    ["my model", "model: openai/x", "", "a name here is letters"],
    ["m", 'model: openai/x, api_key: "sk-secret\\nx"', "", "cannot be sent in a header"],
  ];
  for (const [name, params, info, reason] of left) {
    test(`${name} with {${params}}${info === "" ? "" : ` and {${info}}`} is listed by its line and makes nothing`, () => {
      const planned = plan(config(model("first", "model: openai/y, api_key: k"), model(name, params, info)));
      expect(lines(planned)).toHaveLength(2);
      expect(notes(planned)).toEqual([expect.stringContaining(`3: ${name}: is not carried over: `)]);
      expect(notes(planned)[0]).toContain(reason);
      expect(gapsOf(planned)).toBe(1);
      expect(JSON.stringify(planned.notes)).not.toContain("sk-secret");
    });
  }

  test("takes its prices from its params before its info, exactly, and lists the ones that have no unit", () => {
    const params =
      "model: openai/x, api_key: k, input_cost_per_token: 0.00000125, output_cost_per_token: '1e-5'";
    const info =
      "input_cost_per_token: 9, cache_read_input_token_cost: 1.25e-7, cache_creation_input_token_cost: 1.5625e-6, cache_creation_input_token_cost_above_1hr: 2.5e-6, input_cost_per_second: 1, input_cost_per_token_flex: 1e-6";
    const planned = plan(config(model("m", params, info)));
    expect(lines(planned)[1]).toEndWith(
      "input_tokens=1.25 output_tokens=10 cached_input_tokens=0.125 cache_write_tokens=1.5625 cache_write_1h_tokens=2.5",
    );
    const prices = {
      input_tokens: 1.25,
      output_tokens: 10,
      cached_input_tokens: 0.125,
      cache_write_tokens: 1.5625,
      cache_write_1h_tokens: 2.5,
    };
    expect(planned.file.models).toMatchObject({ m: { prices } });
    expect(notes(planned)).toEqual([
      "2: m: model_info.input_cost_per_second: there is no unit for this price.",
      "2: m: model_info.input_cost_per_token_flex: prices under conditions are not carried over: lockport pricing load, or lockport model set NAME --variant.",
    ]);
    const fine = plan(config(model("m", "model: openai/x, api_key: k, input_cost_per_token: 1e-13")));
    expect(notes(fine).join()).toContain("2: m: input_cost_per_token: A price is exact to twelve decimals");
    expect(fine.file.models?.["m"]).not.toHaveProperty("prices");
  });

  test("of a name that is there twice is carried over once, and the other is listed with the line of the first", () => {
    const planned = plan(
      config(
        model("m", "model: cohere/x"),
        model("m", "model: groq/a, api_key: k"),
        model("m", "model: openai/b, api_key: k"),
      ),
    );
    expect(lines(planned)[1]).toBe("add model m: api.groq.com: a; chat, chat_stream");
    expect(lines(planned)).toHaveLength(2);
    expect(notes(planned).at(-1)).toContain("4: m: is not carried over: a name has one provider, and line 3");
  });

  describe("on a cloud is carried over by way of its OpenAI-compatible address, and a note says so:", () => {
    const azure = "https://team.openai.azure.com";
    const gateway = "https://gw.example.org/azure/openai/deployments/d1";
    const cases: readonly (readonly [params: string, url: string, name: string, note: string])[] = [
      [
        `model: azure/d1, api_base: '${azure}', api_version: '2024-10-21'`,
        `${azure}/openai/v1`,
        "d1",
        "v1 interface",
      ],
      [
        `model: azure/d1, api_base: '${azure}/openai/v1/', api_version: preview`,
        `${azure}/openai/v1`,
        "d1",
        "v1",
      ],
      [`model: azure/o_series/d1, api_base: '${azure}/'`, `${azure}/openai/v1`, "d1", "v1 interface"],
      [
        `model: azure/x, api_base: '${azure}/openai/deployments/d%201/chat/completions?api-version=2024-10-21'`,
        `${azure}/openai/v1`,
        "d 1",
        "v1 interface",
      ],
      [
        "model: azure_ai/DeepSeek-V3, api_base: 'https://hub.services.ai.azure.com/models'",
        "https://hub.services.ai.azure.com/openai/v1",
        "DeepSeek-V3",
        "v1 interface",
      ],
      [`model: azure/x, api_base: '${gateway}', api_version: '2024-10-21'`, gateway, "d1", "api-key header"],
      [
        "model: bedrock/converse/openai.gpt-oss-120b-1:0, aws_region_name: us-west-2",
        "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
        "openai.gpt-oss-120b-1:0",
        "Bedrock's OpenAI-compatible address",
      ],
      [
        "model: bedrock_mantle/openai.gpt-oss-20b, api_base: 'https://bedrock-mantle.us-east-1.api.aws/v1'",
        "https://bedrock-mantle.us-east-1.api.aws/v1",
        "openai.gpt-oss-20b",
        "Bedrock's OpenAI-compatible address",
      ],
      [
        "model: vertex_ai/gemini-2.5-pro, api_base: 'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi'",
        "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi",
        "google/gemini-2.5-pro",
        "live for an hour",
      ],
    ];
    for (const [params, url, name, note] of cases) {
      test(`{${params}}`, () => {
        const planned = plan(config(model("m", `${params}, api_key: sk-k`)));
        const [[provider, made] = ["", undefined]] = Object.entries(planned.file.providers ?? {});
        expect(made).toMatchObject({ base_url: url, api_key: "sk-k" });
        expect(planned.file.models).toMatchObject({ m: { provider, upstream_name: name } });
        expect(notes(planned)).toEqual([expect.stringContaining(note)]);
        expect(gapsOf(planned)).toBe(0);
        expect(JSON.stringify(planned.notes)).not.toContain("sk-k");
      });
    }

    test("the deployment URL of a gateway becomes the endpoints of a provider of its own, with its api-version", () => {
      const at = (name: string, version: string) =>
        model(
          name,
          `model: azure/${name}, api_base: '${gateway.replace("d1", name)}', api_version: '${version}', api_key: k`,
        );
      const planned = plan(config(at("a", "2024-10-21"), at("b", "2024-10-21")));
      const base = gateway.replace("d1", "a");
      expect(Object.values(planned.file.providers ?? {})).toHaveLength(2);
      expect(planned.file.providers?.["gw.example.org"]).toMatchObject({
        base_url: base,
        endpoints: {
          chat: `${base}/chat/completions?api-version=2024-10-21`,
          completions: `${base}/completions?api-version=2024-10-21`,
          embeddings: `${base}/embeddings?api-version=2024-10-21`,
        },
      });
    });

    test("the deployment URL of a gateway leads to what its model is for, below that URL too", () => {
      const params = `model: azure/d1, api_base: '${gateway}', api_version: '2024-10-21', api_key: k`;
      const { file } = plan(config(model("m", params, "mode: audio_transcription")));
      const { endpoints } = file.providers?.["gw.example.org"] ?? {};
      expect(endpoints?.["transcription"]).toBe(`${gateway}/audio/transcriptions?api-version=2024-10-21`);
      expect(Object.keys(endpoints ?? {})).toEqual(["chat", "completions", "embeddings", "transcription"]);
    });

    test("Azure's usual variable holds the key for a host of Azure's, and for no other", () => {
      const keyAt = (base: string) => {
        const planned = plan(config(model("m", `model: azure/x, api_base: '${base}', api_version: v`)), {
          AZURE_API_KEY: "sk-azure",
        });
        return Object.values(planned.file.providers ?? {})[0]?.api_key;
      };
      expect(keyAt(azure)).toBe("sk-azure");
      expect(keyAt(gateway)).toBeUndefined();
    });
  });

  test("of a name whose first deployment cannot be carried over says where the name now goes", () => {
    const planned = plan(config(model("m", "model: cohere/x"), model("m", "model: openai/b, api_key: k")));
    const sentence =
      "m now goes to api.openai.com: b. Its first deployment, in line 2, cannot be carried over.";
    expect(planned.takeovers).toEqual([sentence]);
    expect(notes(planned)).toContain(`3: ${sentence}`);
    const usual = plan(config(model("m", "model: openai/b, api_key: k"), model("m", "model: cohere/x")));
    expect(usual.takeovers).toEqual([]);
  });

  test("with settings that nothing here has is carried over, and each of them is listed by its line", () => {
    const text = `model_list:
  - model_name: m
    litellm_params:
      model: openai/x
      api_key: k
      rpm: 10
      max_retries: 2
      temperature: 0
    model_info:
      id: abc
      base_model: gpt-x
`;
    expect(notes(plan(text))).toEqual([
      "6: m: litellm_params.rpm: is not carried over, since it steers balancing; as a limit: lockport limit set NAME --amount N --measure requests --per minute --model ALIAS.",
      "7: m: litellm_params.max_retries: nothing is retried.",
      "8: m: litellm_params.temperature: requests go on as they come, and nothing is added to them.",
      "11: m: model_info.base_model: prices are not looked up by it; they are written with the model or loaded.",
    ]);
  });
});

test("an anthropic/ model with an api_base of its own goes to a provider that takes x-api-key, which no model of another dialect shares", () => {
  const text = config(
    model("claude", "model: anthropic/claude-x, api_base: 'http://10.0.0.1', api_key: k"),
    model("gpt", "model: openai/gpt-x, api_base: 'http://10.0.0.1/v1', api_key: k"),
    model("usual", "model: anthropic/claude-x, api_key: k"),
  );
  const planned = plan(text);
  const styles = Object.values(planned.file.providers ?? {}).map(({ base_url, auth_style }) => [
    base_url,
    auth_style,
  ]);
  expect(styles).toEqual([
    ["http://10.0.0.1/v1", "x-api-key"],
    ["http://10.0.0.1/v1", undefined],
    ["https://api.anthropic.com/v1", undefined],
  ]);
  expect(notes(planned)[0]).toContain("for clients of the messages API alone");
  const parsed = parseLitellmConfig(text, {});
  if (parsed.kind === "refused") throw new Error("it is one");
  const stored = Object.entries(planned.file.providers ?? {}).map(
    ([name, provider]) => [name, { ...provider, api_key_env: "K" }] as const,
  );
  const current = { ...planned.file, providers: Object.fromEntries(stored) };
  const again = planImport(parsed.config, current, () => true);
  expect([again.file.providers, again.file.models]).toEqual([{}, {}]);
});

describe("a provider's key in a LiteLLM config", () => {
  const keyOf = ({ file }: ImportPlan) => Object.values(file.providers ?? {})[0]?.api_key;

  test("is the literal one, the variable it refers to, the file's own variable, a named credential, or the usual variable", () => {
    expect(keyOf(plan(config(model("m", "model: groq/x, api_key: k1"))))).toBe("k1");
    expect(keyOf(plan(config(model("m", "model: groq/x, api_key: os.environ/K")), { K: "k2" }))).toBe("k2");
    const own = `${config(model("m", "model: groq/x, api_key: os.environ/K"))}environment_variables: {K: k3}\n`;
    expect(keyOf(plan(own))).toBe("k3");
    expect(keyOf(plan(own, { K: "k2" }))).toBe("k2");
    const named = `${config(model("m", "model: groq/x, litellm_credential_name: c"))}credential_list: [{credential_name: c, credential_values: {api_key: k4}}]\n`;
    expect(keyOf(plan(named))).toBe("k4");
    expect(keyOf(plan(config(model("m", "model: groq/x")), { GROQ_API_KEY: "k5" }))).toBe("k5");
  });

  test("that is not set is a gap with its line, and the provider is made without one", () => {
    const planned = plan(config(model("m", "model: groq/x, api_key: os.environ/NOT_SET")));
    expect(keyOf(planned)).toBeUndefined();
    expect(notes(planned)).toEqual(["2: m: the variable NOT_SET for its API key is not set."]);
    expect(gapsOf(planned)).toBe(1);
  });

  test("never goes to an address that nobody named it for, and none of Lockport's own variables goes anywhere", () => {
    const elsewhere = config(model("m", "model: openai/x, api_base: 'http://10.0.0.1/v1'"));
    expect(keyOf(plan(elsewhere, { OPENAI_API_KEY: "sk-usual" }))).toBeUndefined();
    const ours = config(model("m", "model: openai/x, api_key: os.environ/PROXY_API_KEY"));
    expect(keyOf(plan(ours, { PROXY_API_KEY: "lp_secret" }))).toBeUndefined();
  });

  test("makes a provider of its own for each key at one address, and one for all models that share both", () => {
    const planned = plan(
      config(
        model("a", "model: openai/x, api_key: k1"),
        model("b", "model: openai/y, api_key: k2"),
        model("c", "model: openai/z, api_key: k1"),
      ),
    );
    expect(lines(planned).map((line) => line.split(";")[0])).toEqual([
      "add provider api.openai.com: https://api.openai.com/v1",
      "add provider api.openai.com-2: https://api.openai.com/v1",
      "add model a: api.openai.com: x",
      "add model c: api.openai.com: z",
      "add model b: api.openai.com-2: y",
    ]);
    expect(JSON.stringify(lines(planned))).not.toContain("k1");
  });
});

describe("the rest of a LiteLLM config", () => {
  test("has group aliases that become names, and everything else is listed by its line", () => {
    const text = `${config(model("m", "model: openai/x, api_key: k"))}router_settings:
  routing_strategy: simple-shuffle
  model_group_alias:
    plain: m
    quiet: {model: m, hidden: true}
    lost: nobody
    m: m
  fallbacks: [{m: [n]}]
litellm_settings: {drop_params: true}
general_settings:
  master_key: sk-secret
`;
    const planned = plan(text);
    expect(lines(planned).slice(2)).toEqual(["add model plain: -> m", "add model quiet: -> m; hidden"]);
    expect(notes(planned)).toEqual([
      "4: router_settings.routing_strategy: there is no balancing between deployments.",
      "8: lost: is not carried over: nobody is no model that is carried over.",
      "9: m: is not carried over: a model of this name is there already.",
      "10: router_settings.fallbacks: there is no fallback: one request in, at most one request out.",
      "11: litellm_settings.drop_params: has nothing like it here.",
      "13: general_settings.master_key: keys are made here: lockport key create.",
    ]);
    expect(JSON.stringify(planned.notes)).not.toContain("sk-secret");
  });

  test("may use anchors and merge keys, where what stands beside a merge key wins", () => {
    const text = `defaults: &d {model: openai/x, api_key: k, timeout: 60}
model_list:
  - model_name: a
    litellm_params: {<<: *d, model: openai/y}
  - model_name: b
    litellm_params: *d
`;
    expect(lines(plan(text))).toEqual([
      "add provider api.openai.com: https://api.openai.com/v1; API key from the file; timeout_read: 60",
      "add model a: api.openai.com: y; chat, chat_stream",
      "add model b: api.openai.com: x; chat, chat_stream",
    ]);
  });

  const wrong: readonly (readonly [text: string, problem: string])[] = [
    ["", "This is no LiteLLM config: it has no model_list."],
    ["[1, 2]", "it has no model_list"],
    ["lockport_catalog: 1\n", "lockport apply FILE"],
    ["model_list: {a: b}\n", "model_list must be a list of models."],
    ["model_list:\n  - gpt-x\n", "An entry of model_list must have model_name and litellm_params."],
    ["model_list:\n  - {litellm_params: {model: a}}\n", "The entry has no model_name."],
    ["model_list:\n  - {model_name: a}\n", "a has no litellm_params with a model."],
    [
      "model_list:\n  - {model_name: 12345, litellm_params: {model: a}}\n",
      "has a model_name that is no text: put it in quotes",
    ],
    [
      "model_list:\n  - {model_name: a, litellm_params: {model: 3.5}}\n",
      "a has a model that is no text: put it in quotes",
    ],
    ["model_list:\n\t- a\n", "The file is not YAML here: a tab indents the line, where only blanks may."],
    [`${"[".repeat(20_000)}\n`, "nested too deep"],
    ["a: b: c\n", "a text with a colon and a blank in it needs quotes"],
    ["a: 'b\n", "is missing here or before"],
    ["a: 1\n---\nb: 2\n", "a second document begins"],
    ["a: @b\n", "needs quotes"],
    ["model_list: [\n", "not YAML"],
  ];
  for (const [text, problem] of wrong) {
    test(`${JSON.stringify(text.slice(0, 80))} is refused as a whole`, () => {
      const parsed = parseLitellmConfig(text, {});
      expect(parsed.kind).toBe("refused");
      expect(JSON.stringify(parsed)).toContain(problem);
      expect(JSON.stringify(parsed)).not.toMatch(/[A-Z]+_[A-Z]+/);
    });
  }
});
