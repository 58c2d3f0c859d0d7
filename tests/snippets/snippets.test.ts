import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import { isServed, SECRET_VARIABLES, SNIPPET_USES, toUses, type SnippetClient } from "#snippets/client.ts";
import { CLIENTS, findClient } from "#snippets/clients.ts";
import { runProcess } from "../support/process.ts";

const ORIGIN = "http://127.0.0.1:4000";
const SECRETS = { openai: "lp_plain", messages: "lp_plain", relay: "lpt_plain" };
/** What a name or a secret could hold to become more than a text. */
const HOSTILE = [
  `a'b"c\`d`,
  "$(touch owned)",
  "`touch owned`; touch owned",
  "$LOCKPORT_KEY ${HOME}",
  "back\\slash \\n \\' \\\"",
  'x", api_key="other',
  "x'; exit 1; '",
  "#{1} {{ secrets.X }} ${{ secrets.X }}",
  "- a: b # c",
  "\u2028 Grüße 你好 🎈",
];

const texts = CLIENTS.flatMap((client) =>
  toUses(client).map((use) => ({ client, use, toSnippet: client.snippets[use]! })),
);

describe("the table of clients", () => {
  test("holds the clients that people ask for, each once, and finds them by their id", () => {
    const ids = CLIENTS.map(({ id }) => id);
    expect(ids).toEqual([
      "curl",
      "openai-python",
      "openai-node",
      "ai-sdk",
      "langchain-python",
      "langchain-js",
      "agents-python",
      "agents-node",
      "pydantic-ai",
      "open-webui",
      "continue",
      "aider",
      "codex",
      "claude-code-key",
      "anthropic-python-key",
      "anthropic-node-key",
      "ai-sdk-anthropic",
      "cohere-python",
      "cohere-node",
      "claude-code",
      "anthropic-python",
      "anthropic-node",
    ]);
    for (const client of CLIENTS) expect(findClient(client.id)).toBe(client);
    expect(findClient("nobody")).toBeNull();
  });

  test("says what a client needs in sentences, and never names a secret's beginning as if it were one", () => {
    for (const { notes } of CLIENTS) for (const note of notes) expect(note).toMatch(/[.…]$/);
  });

  test("can be shown in a page: nothing in it needs the runtime of the server", async () => {
    const built = await Bun.build({
      entrypoints: ["clients", "unsupported"].map((name) =>
        join(import.meta.dir, "../../src/snippets", `${name}.ts`),
      ),
      target: "browser",
    });
    const code = (await Promise.all(built.outputs.map((output) => output.text()))).join("");
    expect(code).not.toMatch(/^import .* from "(node|bun):/m);
    expect(code).not.toMatch(/\bBun\.|\brequire\(/);
  });
});

describe("every snippet", () => {
  test.each(texts)("$client.id, $use: names the address and the model, and the secret once", (row) => {
    const { client, toSnippet } = row;
    const secret = SECRETS[client.kind];
    const hidden = toSnippet({ origin: ORIGIN, model: "team/small", secret: null });
    const shown = toSnippet({ origin: ORIGIN, model: "team/small", secret });
    for (const text of [hidden, shown]) {
      const bases = { openai: `${ORIGIN}/v1`, messages: ORIGIN, relay: `${ORIGIN}/transparent/messages/` };
      expect(text).toContain(bases[client.kind]);
      // These add the version to the path themselves: the origin is all that they are given.
      if (client.kind === "messages") expect(text).not.toContain("/v1");
      // Open WebUI asks for the list and lets its users choose.
      if (client.id !== "open-webui") expect(text).toContain("team/small");
      expect(text).toEndWith("\n");
      expect(text).not.toMatch(/\n\n\n|[ \t]\n|undefined|null/);
    }
    expect(hidden.split(SECRET_VARIABLES[client.kind])).toHaveLength(2);
    expect(hidden).not.toMatch(/lpt?_/);
    expect(shown.split(secret)).toHaveLength(2);
    expect(shown).not.toContain(SECRET_VARIABLES[client.kind]);
  });

  test("without a model shows a placeholder, or leaves the choice to the program", () => {
    for (const { client, toSnippet } of texts) {
      const text = toSnippet({ origin: ORIGIN, model: null, secret: null });
      const chooses = ["claude-code", "claude-code-key", "open-webui"].includes(client.id);
      expect({ id: client.id, placeholder: text.includes("your-model") }).toEqual({
        id: client.id,
        placeholder: !chooses,
      });
    }
  });
});

/** Clients whose text is of this language, with each use. */
const inLanguage = (language: SnippetClient["language"]) =>
  texts.filter(({ client }) => client.language === language);

describe("a name or a secret that looks like code stays a text", () => {
  test.each(HOSTILE)("in a shell: %j", async (hostile) => {
    for (const { client, use, toSnippet } of inLanguage("shell")) {
      const text = toSnippet({ origin: ORIGIN, model: hostile, secret: hostile });
      // The programs as functions of this shell that say what they were given, each word on its own.
      const say = `printf '%s\\0' "$@" "$OPENAI_API_KEY" "$ANTHROPIC_AUTH_TOKEN" "$ANTHROPIC_BASE_URL"`;
      const names = ["curl", "aider", "claude", "open_webui"];
      const functions = names.map((name) => `${name}() { ${say}; }`).join("\n");
      const script = `${functions}\n${text.replace("open-webui serve", "open_webui serve")}`;
      const { code, data, messages } = await runProcess(["sh", "-c", script]);
      expect({ code, messages }).toEqual({ code: 0, messages: "" });
      const words = data.split("\0");
      const expected =
        client.id === "curl"
          ? [`authorization: Bearer ${hostile}`]
          : [client.kind === "relay" ? `${ORIGIN}/transparent/messages/${hostile}` : hostile];
      expect(words).toEqual(expect.arrayContaining(expected));
      if (client.id === "curl" && use === "transcription") expect(words).toContain(`model=${hostile}`);
      else if (client.id === "curl") expect(JSON.parse(words[words.indexOf("-d") + 1]!).model).toBe(hostile);
      if (client.id === "aider") expect(words).toContain(`openai/${hostile}`);
      if (client.id.startsWith("claude-code")) expect(words).toContain(hostile);
    }
  });

  test.each(HOSTILE)("in TypeScript: %j", (hostile) => {
    for (const { toSnippet } of inLanguage("typescript")) {
      const plain = scan(toSnippet({ origin: ORIGIN, model: "m", secret: "s" }));
      const literals = scan(toSnippet({ origin: ORIGIN, model: hostile, secret: hostile }));
      // As many texts as with harmless values, and two of them are these.
      expect(literals).toHaveLength(plain.length);
      expect(literals.filter((literal) => literal === hostile)).toHaveLength(2);
    }
  });

  test.skipIf(Bun.which("python3") === null)("in Python", async () => {
    const sources = HOSTILE.flatMap((hostile) =>
      inLanguage("python").map(({ toSnippet }) => ({
        hostile,
        source: toSnippet({ origin: ORIGIN, model: hostile, secret: hostile }),
      })),
    );
    const program = [
      "import ast, json, sys",
      "for row in json.loads(sys.argv[1]):",
      "    tree = ast.walk(ast.parse(row['source']))",
      "    texts = [node.value for node in tree if isinstance(node, ast.Constant)]",
      "    assert texts.count(row['hostile']) == 2, row",
    ].join("\n");
    const checked = await runProcess(["python3", "-c", program, JSON.stringify(sources)]);
    expect(checked).toEqual({ code: 0, data: "", messages: "" });
  });

  test.each(HOSTILE)("in TOML: %j", (hostile) => {
    for (const { toSnippet } of inLanguage("toml")) {
      expect(Bun.TOML.parse(toSnippet({ origin: ORIGIN, model: hostile, secret: hostile }))).toEqual({
        model: hostile,
        model_provider: "lockport",
        model_providers: {
          lockport: {
            name: "Lockport",
            base_url: `${ORIGIN}/v1`,
            wire_api: "responses",
            experimental_bearer_token: hostile,
          },
        },
      });
    }
  });

  test.each(HOSTILE)("in YAML: %j", (hostile) => {
    for (const { toSnippet } of inLanguage("yaml")) {
      expect(Bun.YAML.parse(toSnippet({ origin: ORIGIN, model: hostile, secret: hostile }))).toMatchObject({
        models: [{ name: hostile, model: hostile, apiKey: hostile }],
      });
    }
  });
});

test("the configuration of Continue is of the shape that it reads", () => {
  const text = findClient("continue")!.snippets.chat!({ origin: ORIGIN, model: "small", secret: null });
  expect(Bun.YAML.parse(text)).toEqual({
    name: "Lockport",
    version: "1.0.0",
    schema: "v1",
    models: [
      {
        name: "small",
        provider: "openai",
        model: "small",
        apiBase: `${ORIGIN}/v1`,
        apiKey: "${{ secrets.LOCKPORT_KEY }}",
        useResponsesApi: false,
        roles: ["chat", "edit", "apply"],
      },
    ],
  });
});

test("a use that a client has no text for is not in its list", () => {
  expect(toUses(findClient("curl")!)).toEqual([...SNIPPET_USES]);
  expect(toUses(findClient("anthropic-node")!)).toEqual(["chat", "stream"]);
  expect(toUses(findClient("codex")!)).toEqual(["responses"]);
  expect(toUses(findClient("ai-sdk")!)).toEqual(["chat", "stream", "responses", "embeddings"]);
  expect(toUses(findClient("aider")!)).toEqual(["chat"]);
});

/** The string literals of a module, as what they mean. */
function scan(source: string): readonly string[] {
  new Bun.Transpiler({ loader: "ts" }).scan(source);
  return [...source.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([literal]) => JSON.parse(literal));
}

describe("a use", () => {
  test("is shown for a model that can do what it needs, and chat implies none of the others", () => {
    const served = (capabilities: readonly Capability[]) =>
      SNIPPET_USES.filter((use) => isServed(use, capabilities));
    expect(served(["chat", "vision"])).toEqual(["chat"]);
    expect(served(["chat", "chat_stream"])).toEqual(["chat", "stream"]);
    expect(served(["responses"])).toEqual(["responses"]);
    expect(served([])).toEqual([]);
    expect(served(CAPABILITIES)).toEqual([...SNIPPET_USES]);
    // Text completions have no snippet: no client of today asks for them first.
    for (const capability of CAPABILITIES.filter(
      (each) => !["completions", "vision", "chat_stream"].includes(each),
    ))
      expect([capability, served([capability]).length]).toEqual([capability, 1]);
  });

  test("has a snippet of curl, and one of a library", () => {
    for (const use of SNIPPET_USES) {
      const clients = CLIENTS.filter((client) => toUses(client).includes(use)).map(({ id }) => id);
      expect([use, clients[0], clients.length > 1]).toEqual([use, "curl", true]);
    }
  });
});
