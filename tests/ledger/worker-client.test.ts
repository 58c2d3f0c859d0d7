import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createLog } from "#kernel/log.ts";
import { WorkerClient } from "#storage/threads/worker-client.ts";
import { makeFolder } from "../support/folder.ts";

test("the log names what has ended a Worker, its code and where, and nothing of its message", async () => {
  const folder = makeFolder();
  for (const [step, told] of [
    ['openSync("/nonexistent/planted", "r")', { cause: "Error", cause_code: "ENOENT" }],
    ['throw new RangeError("planted")', { cause: "RangeError", cause_code: null }],
    ['throw "planted"', { cause: "Error", cause_code: null, cause_at: null }],
  ] as const) {
    const path = join(folder.path, "failing-worker.ts");
    writeFileSync(
      path,
      `import { openSync } from "node:fs";\nself.onmessage = () => {\n${step} };\nvoid openSync;`,
    );
    const lines: string[] = [];
    const log = createLog({
      level: "debug",
      json: true,
      write: (line) => lines.push(line),
      timestamp: () => "",
    });
    const worker = new WorkerClient({ name: "a Worker", url: pathToFileURL(path), log, start: null });
    const failure: unknown = await worker.ready().catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(Error);
    expect(worker.isRunning).toBe(false);
    expect(JSON.parse(lines[0]!)).toMatchObject({ message: "a Worker: failed", ...told });
    if (!("cause_at" in told)) expect(JSON.parse(lines[0]!).cause_at).toBe("failing-worker.ts:3");
    expect(lines.join("")).not.toContain("planted");
  }
  folder.remove();
});
