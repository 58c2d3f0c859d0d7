import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Notice, NOTICE_TYPES } from "#notices/notice.ts";
import { createNoticePost } from "#notices/post.ts";
import { startWebhook } from "./webhook.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/guides/notices.md"), "utf8");
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
const PYTHON = Bun.which("python3");

describe("the page on notices", () => {
  test("has an example of every type with its common fields, and of no other", () => {
    const examples = blocksOf("json").map((text) => JSON.parse(text));
    expect(examples.map(({ type }) => type)).toEqual([...NOTICE_TYPES]);
    for (const { id, at, text } of examples) {
      expect(id).toMatch(/^019cdd2a-7c00-7000-8000-[0-9a-f]{12}$/);
      expect(at).toMatch(/^2026-11-\d\dT[\d:.]+Z$/);
      expect(text).toEndWith(".");
    }
    for (const type of NOTICE_TYPES) expect(page).toContain(`| \`${type}\` |`);
  });

  test.skipIf(PYTHON === null)("checks a signature in Python, and takes no other for it", async () => {
    const [snippet = ""] = blocksOf("python");
    const webhook = await startWebhook();
    const post = createNoticePost({ url: webhook.url, secret: "s3cret" });
    const notice: Notice = { id: "1", type: "notice.test", at: "2026-11-23T00:00:00Z", text: "Ünïcode" };
    await post(notice, new AbortController().signal);
    await webhook.stop();
    const { body, headers } = webhook.calls[0]!.request;
    const signature = headers.get("x-proxy-signature")!;
    const check = (sent: Buffer, secret: string) => {
      const call = `import sys\nprint(is_from_lockport(sys.stdin.buffer.read(), sys.argv[1], sys.argv[2]))`;
      const command = [PYTHON!, "-c", `${snippet}\n${call}`, signature, secret];
      return Bun.spawnSync(command, { stdin: sent }).stdout.toString().trim();
    };
    expect(check(body, "s3cret")).toBe("True");
    expect(check(body, "another")).toBe("False");
    expect(check(Buffer.concat([body, Buffer.from(" ")]), "s3cret")).toBe("False");
  });
});
