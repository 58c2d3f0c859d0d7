import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** Of the file: a provider and its models. */
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
  /** Changes so far, with this one. */
  readonly count: number;
}

/** Stands before the server, and may answer instead of it. */
async function startBetween(answerInstead: (asked: Asked) => Promise<Response | null>) {
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const isChange = request.method !== "GET";
      if (isChange) count += 1;
      const instead = await answerInstead({ isChange, count });
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
  test("by Ctrl-C says what was made, and a second run goes on from there", async () => {
    const held = Promise.withResolvers<Response | null>();
    const reached = Promise.withResolvers<void>();
    const between = await startBetween(async ({ isChange, count }) => {
      if (!isChange || count !== 4) return null;
      reached.resolve();
      return await held.promise;
    });
    const line = ["import", "litellm-config", path];
    const child = Bun.spawn({
      cmd: [process.execPath, MAIN, ...line, "--url", between.url],
      env: { PATH: process.env["PATH"] ?? "", HOME: folder.path, PROXY_API_KEY: app.adminKey },
      stdout: "pipe",
      stderr: "pipe",
    });
    await reached.promise;
    child.kill("SIGINT");
    // The fourth is not waited for: it is answered only after the command has ended.
    const messages = await new Response(child.stderr).text();
    expect({ code: await child.exited, messages }).toEqual({
      code: 1,
      messages: `lockport: 3 of ${CHANGES} changes were made; then model m2: it was interrupted, and may have been made or not. What was made stays; the same command goes on from there.\n`,
    });
    expect(await countModels()).toBe(2);
    held.resolve(Response.json({}));
    await between.stop();

    expect(await runLocal(app.dataDir, line)).toMatchObject({ code: 0, messages: "made 9 changes\n" });
    expect(await countModels()).toBe(CHANGES - 1);
  }, 30_000);

  test("by a server that fails or is gone says it too, with the exit code of the cause", async () => {
    const between = await startBetween(async ({ count }) =>
      count < 4 ? null : new Response("<p>Bad gateway</p>", { status: 502 }),
    );
    const run = await runLocal(
      "/nonexistent/lockport",
      ["import", "litellm-config", path, "--url", between.url],
      {
        env: { PROXY_API_KEY: app.adminKey },
      },
    );
    expect(run.code).toBe(69);
    expect(run.messages).toContain(`3 of ${CHANGES} changes were made; then model m2: What answers at`);
    expect(run.messages).toContain("the same command goes on from there");
    await between.stop();
  });

  test("before its first change on this machine changes nothing, and a reader that has gone cuts nothing off", async () => {
    const stopped = await runLocal(app.dataDir, ["import", "litellm-config", path], {
      end: AbortSignal.abort(),
    });
    expect(stopped.code).toBe(1);
    expect(stopped.messages).toContain(`0 of ${CHANGES} changes were made; then it was interrupted.`);
    expect(await countModels()).toBe(0);

    const child = Bun.spawn({
      cmd: [
        "bash",
        "-c",
        '"$@" | true; exit "${PIPESTATUS[0]}"',
        "bash",
        process.execPath,
        MAIN,
        "import",
        "litellm-config",
        path,
      ],
      env: { PATH: process.env["PATH"] ?? "", HOME: folder.path, PROXY_DATA_DIR: app.dataDir },
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toEndWith(`made ${CHANGES} changes\n`);
    expect(await child.exited).toBe(0);
    expect(await countModels()).toBe(CHANGES - 1);
  }, 30_000);
});

test("an apply that is cut off between its two rounds says that all of the first were made", async () => {
  const other = join(folder.path, "other");
  for (const line of [
    ["admin", "bootstrap"],
    ["import", "litellm-config", path],
  ])
    expect((await runLocal(other, line)).code).toBe(0);
  const catalog = join(folder.path, "catalog.yaml");
  writeFileSync(catalog, (await runLocal(other, ["export"])).data);
  const between = await startBetween(async ({ isChange, count }) =>
    !isChange && count === CHANGES ? new Response("gone", { status: 503 }) : null,
  );
  const run = await runLocal("/nonexistent/lockport", ["apply", catalog, "--yes", "--url", between.url], {
    env: { PROXY_API_KEY: app.adminKey },
  });
  expect(run.code).toBe(69);
  expect(run.messages).toContain(`${CHANGES} of ${CHANGES} changes were made; then What answers at`);
  expect(await countModels()).toBe(CHANGES - 1);
  await between.stop();
});
