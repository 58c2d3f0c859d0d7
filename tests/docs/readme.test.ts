/** The commands of the first page work as they stand, with only another provider and port. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { startModelServer } from "../../contrib/demo/model-server.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { ROOT, toPage } from "./pages.ts";

const WAIT_MS_MAX = 60_000;
const PROVIDER = "https://api.openai.com/v1";
const ADDRESS = "http://127.0.0.1:4000";
const KEY_COMMAND = "lockport key create --principal ada ";

test(
  "the commands of README.md lead from nothing to a request and its cost, with an empty home",
  async () => {
    const { blocks } = toPage("README.md", await Bun.file(join(ROOT, "README.md")).text());
    const commands = blocks.find(({ text }) => text.startsWith("lockport serve"))?.text ?? "";
    for (const part of [PROVIDER, ADDRESS, KEY_COMMAND, "key.txt"]) expect(commands).toContain(part);
    const folder = makeFolder();
    const models = await startModelServer({ port: 0, chatModels: ["gpt-4o-mini"], embeddingModels: [] });
    const port = await findFreePort();
    try {
      mkdirSync(join(folder.path, "bin"));
      symlinkSync(await executable(), join(folder.path, "bin/lockport"));
      writeFileSync(join(folder.path, "key.txt"), "the provider's key\n");
      const script = commands
        .replace(/^lockport serve &.*$/m, "$&\nuntil lockport health >/dev/null 2>&1; do sleep 0.05; done")
        .replace(/^lockport key create .*$/m, 'KEY=$(lockport key create --principal ada); echo "$KEY"')
        .replaceAll(PROVIDER, models.baseUrl)
        .replaceAll(ADDRESS, `http://127.0.0.1:${port}`);
      const { code, data, messages } = await runProcess(
        ["bash", "-ec", `trap 'kill $!; wait' EXIT\n${script}`],
        {
          cwd: folder.path,
          env: {
            HOME: folder.path,
            PATH: `${join(folder.path, "bin")}${delimiter}${process.env["PATH"]}`,
            PROXY_PORT: String(port),
          },
        },
      );
      expect({ code, messages }).toMatchObject({ code: 0 });
      expect(data).toContain('"content":"Hello!');
      // Input, output and cost, by the prices of the page.
      expect(data).toMatch(/^fast +1 +0 +\d+ +\d+ .*0\.0000\d+$/m);
      expect(messages).not.toContain("lockport: ");
    } finally {
      await models.stop();
      folder.remove();
    }
  },
  WAIT_MS_MAX,
);

async function findFreePort(): Promise<number> {
  const holder = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = holder;
  await holder.stop(true);
  return port ?? 0;
}
