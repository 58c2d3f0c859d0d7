import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GroupName } from "../../contrib/clients/groups.ts";
import { toUses, type SnippetClient, type SnippetUse } from "#snippets/client.ts";
import { CLIENTS } from "#snippets/clients.ts";
import { runProcess } from "../support/process.ts";
import {
  ALIAS,
  CLIENT_MS_MAX,
  EMBEDDER,
  GREETING,
  OWN_CREDENTIAL,
  RECORDED,
  RELAY_MODEL,
  SETUP_MS_MAX,
  isReady,
  placeFile,
  startSite,
  toInterpreter,
  toProgram,
  type Site,
} from "./support.ts";

/** Programs whose snippet is a source file, and `curl`, which every machine of a developer has. */
const LIBRARIES = CLIENTS.filter(
  (client) =>
    (client.id === "curl" || /python|typescript/.test(client.language)) && toRunUses(client).length > 0,
);
const DIMENSIONS = 64;

/** What the site's provider answers. Clients that are not in `contrib/clients` have their shapes checked alone. */
function toRunUses(client: SnippetClient): readonly SnippetUse[] {
  const isInstalled = client.kind !== "messages" && !/^(?:agents|pydantic|ai-sdk-anthropic)/.test(client.id);
  return toUses(client).filter((use) => isInstalled && ["chat", "stream", "embeddings"].includes(use));
}

let site: Site;
beforeAll(async () => {
  site = await startSite();
}, SETUP_MS_MAX);
afterAll(() => site?.stop());

function toGroup({ language }: SnippetClient): GroupName | null {
  if (language === "python") return "python";
  return language === "typescript" ? "javascript" : null;
}

function toSnippetText(client: SnippetClient, use: SnippetUse, secret: string | null): string {
  const chatModel = client.kind === "relay" ? RELAY_MODEL : ALIAS;
  const model = use === "embeddings" ? EMBEDDER : chatModel;
  return client.snippets[use]!({ origin: site.url, model, secret });
}

/** Runs the text as a user would, with nothing but the variables that it names. */
async function run(client: SnippetClient, name: string, text: string, env: Record<string, string>) {
  const group = toGroup(client);
  if (group === null) return runProcess(["sh", "-c", text], { env });
  const file = await placeFile(group, `${name}.${group === "python" ? "py" : "mjs"}`, text);
  return runProcess([toInterpreter(group), file], { env });
}

function toSecret({ kind }: SnippetClient): { readonly text: string; readonly variable: string } {
  return kind === "relay"
    ? { text: site.token, variable: "LOCKPORT_RELAY_TOKEN" }
    : { text: site.key, variable: "LOCKPORT_KEY" };
}

function expectAnswer(client: SnippetClient, use: SnippetUse, data: string): void {
  if (client.id !== "curl") {
    expect(data).toBe(use === "embeddings" ? `${DIMENSIONS}\n` : `${GREETING}\n`);
    return;
  }
  if (use === "chat") expect(JSON.parse(data).choices[0].message.content).toBe(GREETING);
  if (use === "stream") expect(data).toEndWith("data: [DONE]\n\n");
  if (use === "embeddings") expect(JSON.parse(data).data[0].embedding).toHaveLength(DIMENSIONS);
}

for (const client of LIBRARIES) {
  const group = toGroup(client);
  const isReadyHere = group === null ? Bun.which("curl") !== null : isReady(group);
  describe.skipIf(!isReadyHere)(`the snippet for ${client.name}`, () => {
    test.each([...toRunUses(client)])(
      "for %s runs as it is, given its variable, and its usage is recorded",
      async (use) => {
        const { text, variable } = toSecret(client);
        const before = await site.logLength();
        const snippet = toSnippetText(client, use, null);
        expect(snippet).not.toContain(text);
        const env = { [variable]: text, ANTHROPIC_API_KEY: OWN_CREDENTIAL };
        const { code, data, messages } = await run(client, `${client.id}-${use}`, snippet, env);
        expect({ code, messages }).toEqual({ code: 0, messages: "" });
        expectAnswer(client, use, data);
        const recorded = client.kind === "relay" ? RECORDED.relayText : RECORDED.text;
        expect(await site.logAfter(before)).toMatchObject([
          {
            outcome: "ok",
            streamed: use === "stream",
            ...(use === "embeddings" ? { units: { input_tokens: 5 } } : recorded),
          },
        ]);
      },
      CLIENT_MS_MAX,
    );

    test(
      "runs as it is, with the secret in it and no variable",
      async () => {
        const snippet = toSnippetText(client, "chat", toSecret(client).text);
        const env = { ANTHROPIC_API_KEY: OWN_CREDENTIAL };
        const { code, data, messages } = await run(client, `${client.id}-shown`, snippet, env);
        expect({ code, messages }).toEqual({ code: 0, messages: "" });
        expectAnswer(client, "chat", data);
      },
      CLIENT_MS_MAX,
    );
  });
}

test.skipIf(!isReady("javascript"))(
  "the snippets for TypeScript pass the type checker in strict mode",
  async () => {
    const typed = LIBRARIES.filter(({ language }) => language === "typescript");
    const files: string[] = [];
    for (const client of typed) {
      for (const use of toUses(client)) {
        for (const secret of [null, toSecret(client).text]) {
          const name = `${client.id}-${use}-${secret === null ? "variable" : "shown"}.mts`;
          files.push(await placeFile("javascript", name, toSnippetText(client, use, secret)));
        }
      }
    }
    const flags = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--types",
      "node",
    ];
    const tsc = `${import.meta.dir}/../../node_modules/.bin/tsc`;
    const checked = await runProcess([tsc, ...flags, "--skipLibCheck", ...files], {
      cwd: toProgram("javascript", "../.."),
    });
    expect(checked).toMatchObject({ code: 0, data: "" });
  },
  CLIENT_MS_MAX,
);
