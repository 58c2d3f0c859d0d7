import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { engineEnvironment } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = await executable();
/** Changes of the file: a provider and its models. */
const CHANGES = 12;
const LITELLM = `model_list:\n${Array.from(
  { length: CHANGES - 1 },
  (_, index) =>
    `  - {model_name: m${index}, litellm_params: {model: openai/m${index}, api_base: "http://10.0.0.1/v1"}}\n`,
).join("")}`;

let folder: ReturnType<typeof makeFolder>;
let app: TestApp;
let path: string;
beforeEach(async () => {
  folder = makeFolder();
  path = join(folder.path, "config.yaml");
  writeFileSync(path, LITELLM);
  app = await startApp();
});
afterEach(async () => {
  await app.stop();
  folder.remove();
});

interface Asked {
  readonly isChange: boolean;
}

/** Stands before the server, and may answer instead of it. */
async function startBetween(answerInstead: (asked: Asked) => Promise<Response | null>) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const isChange = request.method !== "GET";
      const instead = await answerInstead({ isChange });
      if (instead !== null) return instead;
      const { pathname, search } = new URL(request.url);
      const body = isChange ? await request.text() : null;
      const headers = { ...request.headers.toJSON(), host: new URL(app.url).host };
      return await fetch(`${app.url}${pathname}${search}`, { method: request.method, headers, body });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

const countModels = async () => {
  const { code, data } = await runLocal(app.dataDir, ["model", "list", "--json"]);
  expect(code).toBe(0);
  return JSON.parse(data).length;
};

describe("an import that is cut off", () => {
  test("by Ctrl-C says that all of it was made or nothing, and a second run makes it", async () => {
    const held = Promise.withResolvers<Response | null>();
    const reached = Promise.withResolvers<void>();
    const between = await startBetween(async ({ isChange }) => {
      if (!isChange) return null;
      reached.resolve();
      return await held.promise;
    });
    const line = ["import", "litellm-config", path];
    const child = Bun.spawn({
      cmd: [LOCKPORT, ...line, "--url", between.url],
      env: { PATH: process.env["PATH"] ?? "", HOME: folder.path, LOCKPORT_API_KEY: app.adminKey },
      stdout: "pipe",
      stderr: "pipe",
    });
    await reached.promise;
    child.kill("SIGINT");
    // The answer comes only after the command has ended.
    const messages = await new Response(child.stderr).text();
    expect({ code: await child.exited, messages }).toEqual({
      code: 1,
      messages:
        "lockport: It was interrupted: either all of it was made or nothing. The same command with --dry-run tells.\n",
    });
    expect(await countModels()).toBe(0);
    held.resolve(Response.json({}));
    await between.stop();

    const counted = `made ${CHANGES} changes\n`;
    expect(await runLocal(app.dataDir, line)).toMatchObject({ code: 0, messages: counted });
    expect(await countModels()).toBe(CHANGES - 1);
  }, 30_000);

  test("by a server that fails ends with the exit code of the cause, and nothing is made", async () => {
    const between = await startBetween(async ({ isChange }) =>
      isChange ? new Response("<p>Bad gateway</p>", { status: 502 }) : null,
    );
    const run = await runLocal(
      "/nonexistent/lockport",
      ["import", "litellm-config", path, "--url", between.url],
      {
        env: { LOCKPORT_API_KEY: app.adminKey },
      },
    );
    expect(run.code).toBe(69);
    expect(run.messages).toContain("What answers at");
    expect(await countModels()).toBe(0);
    await between.stop();
  });

  test("before its change on this machine changes nothing, and a reader that has gone cuts nothing off", async () => {
    const stopped = await runLocal(app.dataDir, ["import", "litellm-config", path], {
      end: AbortSignal.abort(),
    });
    expect(stopped.code).toBe(1);
    expect(stopped.messages).toContain("It was interrupted, and nothing was changed.");
    expect(await countModels()).toBe(0);

    const child = Bun.spawn({
      cmd: [
        "bash",
        "-c",
        '"$@" | true; exit "${PIPESTATUS[0]}"',
        "bash",
        LOCKPORT,
        "import",
        "litellm-config",
        path,
      ],
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder.path,
        PROXY_DATA_DIR: app.dataDir,
        ...(await engineEnvironment(app.dataDir)),
      },
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toEndWith(`made ${CHANGES} changes\n`);
    expect(await child.exited).toBe(0);
    expect(await countModels()).toBe(CHANGES - 1);
  }, 30_000);
});
