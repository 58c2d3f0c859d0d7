import { describe, expect, test } from "bun:test";
import { type Capability, guessByName } from "#catalog/capability.ts";
import { guessListed } from "#catalog/discovery.ts";

const CHAT: Capability[] = ["chat", "chat_stream"];
const SEES: Capability[] = [...CHAT, "vision"];

describe("what a model is for is guessed", () => {
  test("by its name where the provider says nothing, as OpenAI, Groq, vLLM and Ollama do", () => {
    const names = {
      chat: [
        "gpt-5-mini",
        "gpt-4o-audio-preview",
        "gpt-oss-safeguard-20b",
        "claude-haiku-4-5",
        "models/gemini-2.5-pro",
        "llama3.3:70b",
        "qwen2.5-vl:7b",
        "mistral-large-latest",
        "openai/gpt-5-codex",
        "sonar-deep-research",
      ],
      completions: ["gpt-3.5-turbo-instruct", "davinci-002"],
      embeddings: [
        "text-embedding-3-small",
        "bge-m3",
        "nomic-embed-text:latest",
        "intfloat/e5-mistral-7b-instruct",
        "all-minilm",
        "Alibaba-NLP/gte-Qwen2-7B",
        "voyage-3",
        "mistral-embed",
        "models/gemini-embedding-001",
      ],
      transcription: ["whisper-large-v3-turbo", "gpt-4o-mini-transcribe", "nvidia/parakeet-tdt-0.6b"],
      responses: ["o3-pro", "gpt-5-pro-2025-10-06", "gpt-5.1-codex-max", "o4-mini-deep-research"],
      realtime: ["gpt-4o-realtime-preview", "gemini-2.5-flash-native-audio-latest"],
      speech: ["tts-1-hd", "gpt-4o-mini-tts", "gemini-2.5-flash-preview-tts", "playai-tts"],
      image: [
        "dall-e-3",
        "gpt-image-1",
        "models/imagen-4.0-generate-001",
        "black-forest-labs/FLUX.1-schnell",
      ],
      video: ["sora-2", "models/veo-3.0-generate-001"],
      moderation: ["omni-moderation-latest", "meta-llama/Llama-Guard-4-12B"],
      rerank: ["BAAI/bge-reranker-v2-m3", "rerank-v3.5"],
      other: ["mistral-ocr-latest"],
    };
    for (const [kind, each] of Object.entries(names))
      for (const name of each)
        expect({ name, kind: guessByName(name).kind }).toEqual({ name, kind } as never);
    expect(guessByName("gpt-5")).toEqual({ kind: "chat", capabilities: CHAT, from: "default" } as never);
    const served = {
      "dall-e-3": ["images"],
      "o3-pro": ["responses"],
      "tts-1": ["speech"],
      "omni-moderation-latest": ["moderation"],
      "rerank-v3.5": ["rerank"],
      "whisper-1": ["transcription"],
      "claude-haiku-4-5": CHAT,
      // They are asked through chat: no provider has them under /moderations.
      "meta-llama/Llama-Guard-4-12B": [],
      "sora-2": [],
      "gpt-realtime": [],
    };
    for (const [name, capabilities] of Object.entries(served))
      expect({ name, capabilities: guessByName(name).capabilities }).toEqual({ name, capabilities } as never);
  });

  test.each([
    [
      "OpenRouter",
      { architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] } },
      "chat",
      SEES,
    ],
    ["OpenRouter's modality alone", { architecture: { modality: "text+image->text" } }, "chat", SEES],
    ["OpenRouter, images and text", { architecture: { output_modalities: ["image", "text"] } }, "chat", CHAT],
    [
      "OpenRouter, images",
      { architecture: { modality: "text->image", output_modalities: ["image"] } },
      "image",
      ["images"],
    ],
    [
      "OpenRouter, embeddings",
      { architecture: { output_modalities: ["embeddings"] } },
      "embeddings",
      ["embeddings"],
    ],
    ["Together, chat", { type: "chat", organization: "Meta" }, "chat", CHAT],
    ["Together, base models", { type: "language", organization: "Meta" }, "completions", ["completions"]],
    ["Together, embeddings", { type: "embedding", organization: "BAAI" }, "embeddings", ["embeddings"]],
    ["Together, rerank", { type: "rerank", organization: "Salesforce" }, "rerank", ["rerank"]],
    ["Together, moderation", { type: "moderation", organization: "Meta" }, "moderation", ["moderation"]],
    ["Vercel", { type: "language", owned_by: "openai" }, "chat", CHAT],
    ["LM Studio", { type: "vlm" }, "chat", SEES],
    ["Novita", { model_type: "embedding" }, "embeddings", ["embeddings"]],
    ["Mistral, chat", { capabilities: { completion_chat: true, vision: true } }, "chat", SEES],
    [
      "Mistral, voice",
      { capabilities: { completion_chat: false, audio_transcription: true } },
      "transcription",
      ["transcription"],
    ],
    [
      "Mistral, nothing known",
      { capabilities: { completion_chat: false, completion_fim: true } },
      "other",
      [],
    ],
    [
      "Azure",
      { capabilities: { chat_completion: false, completion: false, embeddings: true } },
      "embeddings",
      ["embeddings"],
    ],
    [
      "Azure, both",
      { capabilities: { chat_completion: true, completion: true } },
      "chat",
      [...CHAT, "completions"],
    ],
    ["GitHub", { capabilities: { type: "embeddings" } }, "embeddings", ["embeddings"]],
    ["Fireworks", { supports_chat: true, supports_image_input: true }, "chat", SEES],
    ["Fireworks, no chat", { supports_chat: false }, "other", []],
    [
      "another Lockport, messages",
      { capabilities: ["messages", "vision"] },
      "messages",
      ["messages", "vision"],
    ],
    [
      "another Lockport, several",
      { capabilities: ["chat", "chat_stream", "responses"] },
      "chat",
      [...CHAT, "responses"],
    ],
    [
      "another Lockport",
      { capabilities: ["completions", "vision"] },
      "completions",
      ["completions", "vision"],
    ],
  ] as const)("by what the provider says before the name: %s", (_, entry, kind, capabilities) => {
    expect(guessListed("text-embedding-of-no-meaning".slice(0, 4), entry)).toEqual({
      kind,
      capabilities: [...capabilities],
      from: "provider",
    } as never);
  });

  test("by the name again where the provider only says that a model does not chat, or what it says is no word known here", () => {
    const silent = { capabilities: { completion_chat: false, completion_fim: false } };
    expect(guessListed("mistral-embed", silent)).toMatchObject({ kind: "embeddings", from: "name" });
    expect(guessListed("mistral-moderation-latest", { capabilities: { completion_chat: true } }).kind).toBe(
      "moderation",
    );
    for (const entry of [
      { type: "model" },
      { type: 1 },
      { capabilities: null },
      { capabilities: ["tools"] },
      { capabilities: {} },
      { architecture: "text" },
      { architecture: { output_modalities: [] } },
    ]) {
      expect(guessListed("bge-m3", entry as never)).toMatchObject({ kind: "embeddings", from: "name" });
      expect(guessListed("some-model", entry as never)).toMatchObject({ kind: "chat", from: "default" });
    }
  });

  test("by what its vendor's own list serves it by beside chat, and by nothing else where another lists it", () => {
    const OPENAI = { object: "model", owned_by: "system" };
    const ANTHROPIC = { type: "model", display_name: "A name", created_at: "2026-01-01T00:00:00Z" };
    const listed = (name: string, entry: object) => guessListed(name, entry as never).capabilities;
    for (const name of ["gpt-5.1", "gpt-4o-mini", "gpt-3.5-turbo", "o3", "chatgpt-4o-latest"])
      expect([name, listed(name, OPENAI)]).toEqual([name, [...CHAT, "responses"]]);
    expect(guessListed("gpt-4.1", { owned_by: "openai" })).toEqual({
      kind: "chat",
      capabilities: [...CHAT, "responses"],
      from: "provider",
    } as never);
    expect(listed("claude-opus-4-5", ANTHROPIC)).toEqual([...CHAT, "messages"] as never);
    // Those answer chat alone, and these something else alone.
    for (const name of ["gpt-4o-audio-preview", "gpt-4o-search-preview", "gpt-5-search-api", "my-model"])
      expect([name, listed(name, OPENAI)]).toEqual([name, CHAT]);
    expect(listed("gpt-5-pro", OPENAI)).toEqual(["responses"]);
    expect(listed("gpt-4o-mini-transcribe", OPENAI)).toEqual(["transcription"]);
    for (const entry of [
      {},
      { owned_by: "vllm" },
      { owned_by: "OpenAI" },
      { type: "chat" },
      { owned_by: 1 },
    ]) {
      expect(listed("gpt-5.1", entry)).toEqual(CHAT as never);
      expect(listed("openai/gpt-5.1", { ...entry, ...OPENAI })).toEqual(CHAT as never);
      expect(listed("claude-opus-4-5", entry)).toEqual(CHAT as never);
    }
    expect(listed("llama-guard-4-12b", { type: "moderation" })).toEqual([]);
  });
});
