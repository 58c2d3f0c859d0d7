import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GroupName } from "../../contrib/clients/groups.ts";
import { toUses, type SnippetClient, type SnippetUse } from "#snippets/client.ts";
import { CLIENTS } from "#snippets/clients.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { MODELS, startVendorSite } from "./quickstarts.ts";
import {
  ALIAS,
  CLIENT_MS_MAX,
  EMBEDDER,
  GREETING,
  OWN_CREDENTIAL,
  RECORDED,
  RELAYED,
  RELAY_MODEL,
  SETUP_MS_MAX,
  isReady,
  placeFile,
  toInterpreter,
  toProgram,
  type Site,
} from "./support.ts";
import { HEARD, PIXEL, SPOKEN } from "./vendors.ts";

/** Programs whose snippet is a source file, and `curl`, which every machine of a developer has. */
const LIBRARIES = CLIENTS.filter(({ id, language }) => id === "curl" || /python|typescript/.test(language));
const DIMENSIONS = 64;
const RECORDING = "hello.mp3";

let site: Site;
const folder = makeFolder();
beforeAll(async () => {
  site = await startVendorSite();
}, SETUP_MS_MAX);
afterAll(async () => {
  await site?.stop();
  folder.remove();
});

function toGroup({ language }: SnippetClient): GroupName | null {
  if (language === "python") return "python";
  return language === "typescript" ? "javascript" : null;
}

function toModel(client: SnippetClient, use: SnippetUse): string {
  if (client.kind === "relay") return RELAY_MODEL;
  if (use === "embeddings") return EMBEDDER;
  if (use === "chat" || use === "stream") return ALIAS;
  // Those of a medium are called as their capability is.
  return use === "responses" || use === "messages" ? MODELS[use] : use;
}

function toSnippetText(client: SnippetClient, use: SnippetUse, secret: string | null): string {
  return client.snippets[use]!({ origin: site.url, model: toModel(client, use), secret });
}

/** Runs the text as a user would, with nothing but the variables that it names. */
async function run(client: SnippetClient, name: string, text: string, env: Record<string, string>) {
  const group = toGroup(client);
  if (group === null) {
    await Bun.write(join(folder.path, RECORDING), "ID3");
    return { cwd: folder.path, ...(await runProcess(["sh", "-c", text], { env, cwd: folder.path })) };
  }
  const cwd = dirname(await placeFile(group, RECORDING, "ID3"));
  const file = await placeFile(group, `${name}.${group === "python" ? "py" : "mjs"}`, text);
  return { cwd, ...(await runProcess([toInterpreter(group), file], { env, cwd })) };
}

function toSecret({ kind }: SnippetClient): { readonly text: string; readonly variable: string } {
  return kind === "relay"
    ? { text: site.token, variable: "LOCKPORT_RELAY_TOKEN" }
    : { text: site.key, variable: "LOCKPORT_KEY" };
}

/** The text that a program writes of its answer; `curl` writes the answer itself. */
async function readAnswer(
  client: SnippetClient,
  use: SnippetUse,
  data: string,
  cwd: string,
): Promise<unknown> {
  if (use === "speech") return await Bun.file(join(cwd, "speech.mp3")).text();
  if (client.id !== "curl") {
    if (use !== "images") return data.trimEnd().toLowerCase();
    return Buffer.from(await Bun.file(join(cwd, "picture.png")).bytes()).toString("base64");
  }
  if (use === "stream") return data.endsWith("data: [DONE]\n\n") ? GREETING.toLowerCase() : data;
  const body = JSON.parse(data);
  const { choices, output, content, data: rows, results, text } = body;
  const found = {
    chat: () => choices[0].message.content.toLowerCase(),
    responses: () => output.at(-1).content[0].text.toLowerCase(),
    messages: () => content[0].text.toLowerCase(),
    embeddings: () => String(rows[0].embedding.length),
    transcription: () => text.toLowerCase(),
    images: () => rows[0].b64_json,
    moderation: () => String(results[0].flagged),
    rerank: () => String(results[0].index),
  };
  return found[use]();
}

const ANSWERS: { readonly [use in SnippetUse]: string } = {
  chat: GREETING.toLowerCase(),
  stream: GREETING.toLowerCase(),
  responses: GREETING.toLowerCase(),
  messages: GREETING.toLowerCase(),
  embeddings: String(DIMENSIONS),
  transcription: HEARD.toLowerCase(),
  speech: SPOKEN,
  images: PIXEL,
  moderation: "false",
  rerank: "0",
};

/** Fields that have to be recorded of it. */
function toRecorded(client: SnippetClient, use: SnippetUse): object {
  if (client.kind === "relay") return RELAYED.text;
  if (use === "chat" || use === "stream") return RECORDED.text;
  if (use === "embeddings") return { units: { input_tokens: 5 } };
  return { endpoint: use, model: toModel(client, use), cost: expect.any(Number) };
}

for (const client of LIBRARIES) {
  const group = toGroup(client);
  const isReadyHere = group === null ? Bun.which("curl") !== null : isReady(group);
  describe.skipIf(!isReadyHere)(`the snippet for ${client.name}`, () => {
    test.each([...toUses(client)])(
      "for %s runs as it is, given its variable, and its usage is recorded",
      async (use) => {
        const { text, variable } = toSecret(client);
        const before = await site.logLength();
        const snippet = toSnippetText(client, use, null);
        expect(snippet).not.toContain(text);
        const env = {
          [variable]: text,
          // A client of the relay has a credential of its own; one with a key has none.
          ...(client.kind === "relay" && { ANTHROPIC_API_KEY: OWN_CREDENTIAL }),
        };
        const { code, data, messages, cwd } = await run(client, `${client.id}-${use}`, snippet, env);
        // It warns that its warnings can be switched off.
        expect({ code, messages: client.id === "ai-sdk-anthropic" ? "" : messages }).toEqual({
          code: 0,
          messages: "",
        });
        expect(await readAnswer(client, use, data, cwd)).toBe(ANSWERS[use]);
        expect(await site.logAfter(before)).toMatchObject([
          { outcome: "ok", streamed: use === "stream", ...toRecorded(client, use) },
        ]);
      },
      CLIENT_MS_MAX,
    );

    test(
      "runs as it is, with the secret in it and no variable",
      async () => {
        const [use = "chat"] = toUses(client);
        const snippet = toSnippetText(client, use, toSecret(client).text);
        const env = client.kind === "relay" ? { ANTHROPIC_API_KEY: OWN_CREDENTIAL } : {};
        const { code, data, cwd } = await run(client, `${client.id}-shown`, snippet, env);
        expect(code).toBe(0);
        expect(await readAnswer(client, use, data, cwd)).toBe(ANSWERS[use]);
      },
      CLIENT_MS_MAX,
    );
  });
}

test.skipIf(!isReady("javascript"))(
  "the snippets for TypeScript pass the type checker in strict mode",
  async () => {
    const typed = CLIENTS.filter(({ language }) => language === "typescript");
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
