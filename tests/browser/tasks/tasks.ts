import type { Page } from "playwright-core";
import type { ModelServer } from "../../../contrib/demo/model-server.ts";
import { callApi } from "../../support/installation.ts";
import type { Site } from "../support/site.ts";

/** What a task begins with, and what it is compared with: by the interface, so that no press is counted. */
export async function call(site: Site, method: string, path: string, body?: unknown, key = ""): Promise<any> {
  const response = await callApi(site.url, key || (await site.adminKey()), method, path, body);
  return JSON.parse(await response.text());
}

/** A provider with a model `fast` that answers, and one request to it by `admin`. */
export async function makeUsed(site: Site, provider: ModelServer, pricing?: object): Promise<void> {
  await call(site, "POST", "/admin/v1/providers", { name: "lab", base_url: provider.baseUrl });
  await call(site, "POST", "/admin/v1/models", {
    alias: "fast",
    provider: "lab",
    upstream_name: "gpt-4o-mini",
    ...(pricing !== undefined && { pricing }),
  });
  await sendHello(site);
}

/** A request to `fast`, once it is in the log. */
export async function sendHello(site: Site, key?: string): Promise<void> {
  const { total: before } = await call(site, "GET", "/admin/v1/requests?limit=1");
  const messages = [{ role: "user", content: "Hello there, how are you?" }];
  await call(site, "POST", "/v1/chat/completions", { model: "fast", messages }, key);
  while ((await call(site, "GET", "/admin/v1/requests?limit=1")).total <= before);
}

export const goTo = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();

export async function chooseWindow(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Window: / }).click();
  await page.getByRole("button", { name, exact: true }).click();
}
