import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "#boot/settings/environment.ts";
import { CLIENTS, findClient } from "#snippets/clients.ts";
import { UNSUPPORTED } from "#snippets/unsupported.ts";
import { runLocal } from "../cli/terminal.ts";
import { makeFolder } from "../support/folder.ts";

const NOWHERE = "/nonexistent/lockport";

async function run(line: readonly string[], env: Environment = {}) {
  const { code, data, messages } = await runLocal(NOWHERE, ["snippet", ...line], { env });
  return { failed: code === 2, data, messages };
}

const chatOf = (id: string, origin: string, model: string | null = null) =>
  findClient(id)!.snippets.chat!({ origin, model, secret: null });

describe("lockport snippet", () => {
  test("without a client lists them all, and beside the data what cannot work", async () => {
    const { failed, data, messages } = await run([]);
    expect(failed).toBe(false);
    for (const { id, name } of CLIENTS) {
      expect(data).toContain(id);
      expect(data).toContain(name);
    }
    for (const { name, reason } of UNSUPPORTED) {
      expect(data).not.toContain(reason);
      expect(messages).toContain(name);
      expect(messages).toContain(reason);
    }
  });

  test("puts the text on stdout and nothing else, so that it can go into a file", async () => {
    const { failed, data, messages } = await run(["openai-python", "--model", "small"]);
    expect(failed).toBe(false);
    expect(data).toBe(chatOf("openai-python", "http://127.0.0.1:4000", "small"));
    expect(messages).toContain("pip install openai");
    expect(messages).toContain("LOCKPORT_KEY stands for an API key.");
    expect(messages).not.toContain("your-model");
    expect((await run(["openai-python"])).messages).toContain("your-model stands for a model");
  });

  test("shows another use when asked, and refuses one that the client lacks", async () => {
    const subject = { origin: "http://127.0.0.1:4000", model: "small", secret: null };
    expect((await run(["curl", "--model", "small", "--use", "embeddings"])).data).toBe(
      findClient("curl")!.snippets.embeddings!(subject),
    );
    const refused = await run(["aider", "--use", "embeddings"]);
    expect(refused).toMatchObject({ failed: true, data: "" });
    expect(refused.messages).toContain("aider has a snippet for chat only.");
  });

  test("without a use shows the first that the client has: Codex's file, Claude Code's variables", async () => {
    const codex = await run(["codex", "--model", "small", "--url", "https://a.example.org"]);
    expect(Bun.TOML.parse(codex.data)).toEqual({
      model: "small",
      model_provider: "lockport",
      model_providers: {
        lockport: {
          name: "Lockport",
          base_url: "https://a.example.org/v1",
          wire_api: "responses",
          env_key: "LOCKPORT_KEY",
        },
      },
    });
    const claude = await run(["claude-code-key", "--model", "small", "--url", "https://a.example.org"]);
    expect(claude.data).toBe(
      `export ANTHROPIC_BASE_URL='https://a.example.org'\nexport ANTHROPIC_AUTH_TOKEN="$LOCKPORT_KEY"\nclaude --model 'small'\n`,
    );
    expect(JSON.parse((await run(["codex", "--json"])).data)).toMatchObject({
      uses: ["responses"],
      use: "responses",
    });
    expect((await run(["codex", "--use", "chat"])).messages).toContain(
      "Codex CLI has a snippet for responses only.",
    );
  });

  test.each<[readonly string[], Environment, string]>([
    [[], {}, "http://127.0.0.1:4000"],
    [[], { PROXY_PORT: "8080" }, "http://127.0.0.1:8080"],
    [[], { PROXY_HOST: "0.0.0.0" }, "http://127.0.0.1:4000"],
    [[], { PROXY_HOST: "::1" }, "http://[::1]:4000"],
    [[], { PROXY_PUBLIC_URL: "https://models.example.org" }, "https://models.example.org"],
    [["--url", "https://a.example.org:8443/"], { PROXY_PORT: "1" }, "https://a.example.org:8443"],
    [["--url", "http://a.example.org/v1"], {}, "http://a.example.org"],
  ])("with %j and %j says that the server is at %s", async (flags, env, origin) => {
    expect((await run(["curl", ...flags], env)).data).toBe(chatOf("curl", origin));
  });

  test.each<[readonly string[], Environment, string]>([
    [["curl", "--url", "models.example.org"], {}, "an origin such as"],
    [["curl", "--url", "http://a.example.org/deep/path"], {}, "an origin such as"],
    [["curl", "--model", "a\nb"], {}, "1 to 200 characters"],
    [["curl", "--model", ""], {}, "--model"],
    [["curl", "--use", "audio"], {}, "Allowed choices are chat, stream, responses, messages, embeddings"],
    [["curl"], { PROXY_PORT: "0" }, "--url"],
    [["kurl"], {}, "Did you mean curl?"],
    [["Capabilities"], {}, "lockport model set NAME --add-capability CAPABILITY"],
    [["Realtime"], {}, "There are no WebSockets here."],
  ])("%j with %j is a usage error that says what is right", async (line, env, expected) => {
    const { failed, data, messages } = await run(line, env);
    expect({ failed, data }).toEqual({ failed: true, data: "" });
    expect(messages).toContain(expected);
  });

  test("as JSON gives a client with its text, and the list with what cannot work", async () => {
    const one = JSON.parse((await run(["claude-code", "--json"])).data);
    expect(one).toMatchObject({
      client: "claude-code",
      kind: "relay",
      language: "shell",
      uses: ["chat"],
      use: "chat",
      secret: "LOCKPORT_RELAY_TOKEN",
      text: chatOf("claude-code", "http://127.0.0.1:4000"),
    });
    const all = JSON.parse((await run(["--json"])).data);
    expect(all.clients.map(({ client }: { client: string }) => client)).toEqual(CLIENTS.map(({ id }) => id));
    expect(all.unsupported.map(({ id }: { id: string }) => id)).toEqual(UNSUPPORTED.map(({ id }) => id));
  });

  test("takes no secret on its line, and makes no data folder", async () => {
    const folder = makeFolder();
    try {
      const dataDir = join(folder.path, "data");
      expect((await run(["curl", "--key", "lp_plain"])).failed).toBe(true);
      await run(["curl"], { PROXY_DATA_DIR: dataDir });
      expect(existsSync(dataDir)).toBe(false);
    } finally {
      folder.remove();
    }
  });

  test("explains itself with examples", async () => {
    const { failed, data } = await run(["--help"]);
    expect(failed).toBe(false);
    expect(data).toContain("lockport snippet curl --model small");
  });
});
