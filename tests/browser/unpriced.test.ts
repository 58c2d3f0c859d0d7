import { beforeEach, expect, test } from "bun:test";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { openAtRest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      // An embedding with an output, which no such model should have.
      script: (asked) => asked.reply({ body: '{"usage":{"prompt_tokens":1000,"completion_tokens":10}}' }),
      models: { talks: "vendor/talks" },
    },
  });
});

async function post(path: string, body: unknown): Promise<void> {
  const response = await callApi(site.url, await site.adminKey(), "POST", path, body);
  expect(response.ok).toBe(true);
  await response.arrayBuffer();
}

async function bind(alias: string, more: Record<string, unknown> = {}): Promise<void> {
  const model = { alias, provider: "lab", upstream_name: `vendor/${alias}`, capabilities: ["embeddings"] };
  await post("/admin/v1/models", { ...model, ...more });
}

describeInBrowser("the models", () => {
  test("calls no unit unpriced that such a model cannot use, unless it was used or has a price", async () => {
    await bind("embeds");
    await bind("embeds-name", {
      provider: undefined,
      upstream_name: undefined,
      capabilities: undefined,
      target: "embeds",
    });
    await bind("embeds-priced", { pricing: { output_tokens: 3 } });
    await bind("embeds-strangely");
    await post("/v1/embeddings", { model: "embeds-strangely", input: "text" });
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await openAtRest(page, "/models");
    const says = (unit: string, alias: string, state: string) =>
      page.getByRole("button", { name: `${unit} of ${alias}: ${state}. Change`, exact: true }).waitFor();
    await says("Input tokens", "talks", "unpriced");
    await says("Output tokens", "talks", "unpriced");
    await says("Cached input tokens", "talks", "unpriced");
    for (const alias of ["embeds", "embeds-name"]) {
      await says("Input tokens", alias, "unpriced");
      await says("Output tokens", alias, "not used");
      await says("Cached input tokens", alias, "not used");
    }
    await says("Output tokens", "embeds-priced", "$3.00, own");
    await says("Output tokens", "embeds-strangely", "unpriced");
    await says("Cached input tokens", "embeds-strangely", "not used");
    await checkAccessibility(page);
    // It can be priced all the same.
    await page.getByRole("button", { name: /^Output tokens of embeds: / }).click();
    await page.locator("td input:focus").waitFor();
    await page.keyboard.type("4");
    await page.keyboard.press("Enter");
    await says("Output tokens", "embeds", "$4.00, own");
    await says("Output tokens", "embeds-name", "$4.00, inherited");
  });
});
