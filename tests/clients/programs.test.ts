import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { toGroupFolder, type GroupName } from "../../contrib/clients/groups.ts";
import { AIDER, CONTINUE } from "#snippets/programs.ts";
import { CLAUDE_CODE } from "#snippets/messages.ts";
import { runProcess } from "../support/process.ts";
import {
  ALIAS,
  CLIENT_MS_MAX,
  GREETING,
  OWN_CREDENTIAL,
  RECORDED,
  RELAYED,
  RELAY_MODEL,
  SETUP_MS_MAX,
  WRITTEN,
  isReady,
  startSite,
  toProgram,
  type Site,
} from "./support.ts";

let site: Site;
beforeAll(async () => {
  site = await startSite();
}, SETUP_MS_MAX);
afterAll(() => site?.stop());

/** An empty home of the group's own; the program is found as after an installation. */
function makeHome(group: GroupName, program: string): { readonly home: string; readonly path: string } {
  const home = join(toGroupFolder(group), "home");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  return { home, path: `${dirname(toProgram(group, program))}:${process.env["PATH"] ?? ""}` };
}

test.skipIf(!isReady("aider"))(
  "aider, by its snippet, edits a file with the alias and its usage is recorded",
  async () => {
    const { home, path } = makeHome("aider", "aider");
    const edited = join(home, "greeting.txt");
    await Bun.write(edited, "");
    const before = await site.logLength();
    const snippet = AIDER.snippets.chat({ origin: site.url, model: ALIAS, secret: null });
    const { code, messages } = await runProcess(["sh", "-c", snippet], {
      cwd: home,
      env: {
        HOME: home,
        PATH: path,
        LOCKPORT_KEY: site.key,
        // What a person would type, and what would wait for one.
        AIDER_MESSAGE: "write the greeting",
        AIDER_FILE: edited,
        AIDER_YES_ALWAYS: "true",
        AIDER_GIT: "false",
        // Else they would lie in the checkout, which is above its home.
        AIDER_CHAT_HISTORY_FILE: join(home, "chat.md"),
        AIDER_INPUT_HISTORY_FILE: join(home, "input"),
        AIDER_CHECK_UPDATE: "false",
        AIDER_SHOW_RELEASE_NOTES: "false",
        AIDER_ANALYTICS_DISABLE: "true",
      },
    });
    expect({ code, messages }).toMatchObject({ code: 0 });
    expect(await Bun.file(edited).text()).toBe(`${WRITTEN}\n`);
    expect(existsSync(join(home, "chat.md"))).toBe(true);
    expect(await site.logAfter(before)).toMatchObject([
      { outcome: "ok", model: ALIAS, streamed: true, ...RECORDED.text },
    ]);
  },
  CLIENT_MS_MAX,
);

test.skipIf(!isReady("continue"))(
  "Continue answers with its configuration from the snippet and the key from its .env",
  async () => {
    const { home, path } = makeHome("continue", "cn");
    const config = join(home, ".continue/config.yaml");
    await Bun.write(config, CONTINUE.snippets.chat({ origin: site.url, model: ALIAS, secret: null }));
    await Bun.write(join(home, ".continue/.env"), `LOCKPORT_KEY=${site.key}\n`);
    const before = await site.logLength();
    const { code, data, messages } = await runProcess(["cn", "--config", config, "-p", "greet me"], {
      cwd: home,
      env: { HOME: home, PATH: path },
    });
    expect({ code, data: data.trim(), messages }).toMatchObject({ code: 0, data: GREETING });
    expect(await site.logAfter(before)).toMatchObject([
      { outcome: "ok", model: ALIAS, streamed: true, ...RECORDED.text },
    ]);
  },
  CLIENT_MS_MAX,
);

/** Runs the snippet as a user would, with one question added. */
async function askClaudeCode(token: string) {
  const { home, path } = makeHome("claude-code", "claude");
  const snippet = CLAUDE_CODE.snippets.chat({ origin: site.url, model: RELAY_MODEL, secret: null });
  return runProcess(["sh", "-c", `${snippet.trimEnd()} -p 'greet me'`], {
    cwd: home,
    env: {
      HOME: home,
      PATH: path,
      LOCKPORT_RELAY_TOKEN: token,
      ANTHROPIC_API_KEY: OWN_CREDENTIAL,
      ANTHROPIC_CUSTOM_HEADERS: "x-proxy-tags: app:claude-code",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  });
}

test.skipIf(!isReady("claude-code"))(
  "Claude Code, by its snippet, answers through the relay with its own credential; its usage is the token's",
  async () => {
    const before = await site.logLength();
    const { code, data, messages } = await askClaudeCode(site.token);
    // It says that it does not know the model, which no model of a mock's could be.
    expect({ code, data: data.trim(), messages }).toMatchObject({ code: 0, data: GREETING });
    const events = await site.logAfter(before);
    expect(events.filter(({ model }) => model === RELAY_MODEL)).toMatchObject([
      {
        outcome: "ok",
        provider: "transparent:messages",
        streamed: true,
        tags: ["app:claude-code"],
        ...RELAYED.text,
      },
    ]);
    for (const { client } of events) expect(client).toMatch(/^claude-cli\/\d/);
  },
  CLIENT_MS_MAX,
);

test.skipIf(!isReady("claude-code"))(
  "Claude Code speaks of its model when the relay token is not known, as the snippet's notes say; nothing is recorded",
  async () => {
    const before = await site.logLength();
    const { code, data } = await askClaudeCode("lpt_nobody");
    expect(code).not.toBe(0);
    expect(data).toContain("issue with the selected model");
    expect(CLAUDE_CODE.notes.join(" ")).toContain("issue with the selected model");
    expect(await site.logLength()).toBe(before);
  },
  CLIENT_MS_MAX,
);
