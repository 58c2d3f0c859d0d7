import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { toGroupFolder, type GroupName } from "../../contrib/clients/groups.ts";
import { runProcess } from "../support/process.ts";
import { CLIENT_MS_MAX, GREETING, SETUP_MS_MAX, isReady, toProgram, type Site } from "./support.ts";
import { GREET, MODELS, startVendorSite, toEvents, toSeen } from "./quickstarts.ts";
import { WARM } from "./vendors.ts";

let site: Site;
beforeAll(async () => {
  site = await startVendorSite();
}, SETUP_MS_MAX);
afterAll(() => site?.stop());

const STREAMED = { uses: ["stream", "tools-stream"] } as const;
const COMMAND = "echo hello > greeting.txt";

/** An empty home, and a folder to work in. */
function makeHome(group: GroupName): { readonly home: string; readonly work: string } {
  const home = join(toGroupFolder(group), "coding");
  rmSync(home, { recursive: true, force: true });
  const work = join(home, "work");
  mkdirSync(work, { recursive: true });
  return { home, work };
}

interface Asked {
  readonly home: string;
  readonly work: string;
  readonly question: string;
}

async function askCodex({ home, work, question }: Asked, config: string, key: Record<string, string>) {
  await Bun.write(join(home, "codex/config.toml"), config);
  return runProcess(
    [
      toProgram("codex", "codex"),
      "exec",
      "--skip-git-repo-check",
      // The folder is its own, and a machine of tests may have no sandbox for it.
      "--dangerously-bypass-approvals-and-sandbox",
      "--model",
      MODELS.responses,
      question,
    ],
    { cwd: work, env: { HOME: home, CODEX_HOME: join(home, "codex"), ...key } },
  );
}

const CODEX_WAYS = {
  "its base URL": () => ({
    config: `openai_base_url = "${site.url}/v1"\n\n[analytics]\nenabled = false\n`,
    key: { CODEX_API_KEY: site.key },
  }),
  "a provider of its own": () => ({
    config: [
      'model_provider = "lockport"',
      "[model_providers.lockport]",
      'name = "Lockport"',
      `base_url = "${site.url}/v1"`,
      'env_key = "LOCKPORT_KEY"',
      'wire_api = "responses"',
      "[analytics]",
      "enabled = false\n",
    ].join("\n"),
    key: { LOCKPORT_KEY: site.key },
  }),
};

test.skipIf(!isReady("codex")).each(["its base URL", "a provider of its own"] as const)(
  "Codex, by %s, answers and runs a command that it was told, and each request leaves one priced event",
  async (way) => {
    const { config, key } = CODEX_WAYS[way]();
    const { home, work } = makeHome("codex");
    const before = await site.logLength();
    const greeted = await askCodex({ home, work, question: GREET }, config, key);
    expect(greeted).toMatchObject({ code: 0, data: `${GREETING}\n` });
    const question = `use exec_command ${JSON.stringify({ cmd: COMMAND })}`;
    const worked = await askCodex({ home, work, question }, config, key);
    expect(worked).toMatchObject({ code: 0, data: `${WARM}\n` });
    expect(await Bun.file(join(work, "greeting.txt")).text()).toBe("hello\n");
    // A WebSocket that was refused leaves none.
    const events = (await site.logAfter(before)).map(toSeen);
    expect(events).toMatchObject([...toEvents("responses", STREAMED)]);
    for (const { client } of events) expect(client).toMatch(/^codex_exec\/\d/);
    // It goes on over HTTPS at once: a WebSocket that was not there at all is asked for seven times.
    expect(greeted.messages).not.toContain("Reconnecting");
  },
  CLIENT_MS_MAX,
);

test.skipIf(!isReady("claude-code"))(
  "Claude Code, by its base URL and a key, answers and runs a command that it was told, and each request leaves one priced event",
  async () => {
    const { home, work } = makeHome("claude-code");
    const before = await site.logLength();
    const ask = (question: string) =>
      runProcess(
        [
          toProgram("claude-code", "claude"),
          "--model",
          MODELS.messages,
          "--allowedTools",
          "Bash",
          "-p",
          question,
        ],
        {
          cwd: work,
          env: {
            HOME: home,
            ANTHROPIC_BASE_URL: site.url,
            ANTHROPIC_AUTH_TOKEN: site.key,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          },
        },
      );
    expect(await ask(GREET)).toMatchObject({ code: 0, data: `${GREETING}\n` });
    const input = JSON.stringify({ command: COMMAND, description: "Writes a greeting" });
    expect(await ask(`use Bash ${input}`)).toMatchObject({ code: 0, data: `${WARM}\n` });
    expect(await Bun.file(join(work, "greeting.txt")).text()).toBe("hello\n");
    const events = (await site.logAfter(before)).map(toSeen);
    expect(events).toMatchObject([...toEvents("messages", STREAMED)]);
    for (const { client } of events) expect(client).toMatch(/^claude-cli\/\d/);
  },
  CLIENT_MS_MAX,
);
