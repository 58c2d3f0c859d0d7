import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
let file: string;
beforeEach(async () => {
  file = join(folder.path, "backup.tar.zst");
  await (await startApp({ dataDir: folder.data })).stop();
});

const run = (line: readonly string[], input: CliInput = {}) => runLocal(folder.data, line, input);

describe("a check of a database", () => {
  test("is named on a terminal before it begins, with a word on Ctrl-C where that has to wait for it", async () => {
    const screens = { screens: true, env: { PROXY_PORT: "0" } };
    const doctor = await run(["doctor"], screens);
    expect(doctor.messages).toContain("checking usage.db …");
    expect(doctor.messages).not.toContain("Ctrl-C");
    expect((await run(["backup", file, "--with-secret-key"], screens)).messages).toContain(
      "checking usage.db (Ctrl-C waits for it) …",
    );
    const target = join(folder.path, "target");
    const restore = await run(["restore", file, "--data-dir", target], screens);
    for (const name of ["catalog.db", "usage.db"])
      expect(restore.messages).toContain(`checking ${name} (Ctrl-C waits for it) …`);
    // Nothing of it stays on the screen, nor is it written where there is none.
    expect(restore.messages).toContain("\r\u001b[KRestored the installation");
    expect((await run(["backup", file])).messages).not.toContain("checking");
  });

  test.each(["catalog.db", "usage.db"])(
    "of %s in a restore is the last thing that is done when Ctrl-C came meanwhile",
    async (name) => {
      expect((await run(["backup", file, "--with-secret-key"])).code).toBe(0);
      const target = join(folder.path, "target");
      const end = new AbortController();
      const onMessage = (text: string) => {
        if (text.includes(`checking ${name}`)) setImmediate(() => end.abort());
      };
      const line = ["restore", file, "--data-dir", target];
      const { code, messages } = await run(line, { screens: true, end: end.signal, onMessage });
      expect(code).toBe(1);
      expect(messages).toContain("It was interrupted, and nothing half done is left on this machine.");
      expect(messages).not.toContain("putting it in place");
      expect(existsSync(target)).toBe(false);
      expect(readdirSync(folder.path).toSorted()).toEqual(["backup.tar.zst", "data"]);
    },
  );
});
