import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";

test("the demonstration asks twice through the official SDK, shows what was recorded with its price, and leaves nothing behind", async () => {
  const folder = makeFolder();
  const temporary = join(folder.path, "tmp");
  mkdirSync(temporary);
  try {
    const { code, data, messages } = await runProcess(
      [process.execPath, "--no-env-file", join(import.meta.dir, "../../contrib/demo/demo.ts")],
      { env: { HOME: folder.path, TMPDIR: temporary } },
    );
    expect({ code, messages }).toEqual({ code: 0, messages: "" });
    expect(data.match(/Hello! I am a demo model/g)).toHaveLength(2);
    expect(data.match(/200 ok.*\$0\.0000\d+/g)).toHaveLength(2);
    expect(readdirSync(temporary)).toEqual([]);
  } finally {
    folder.remove();
  }
}, 30_000);
