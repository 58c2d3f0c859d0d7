/**
 * The pictures of the documentation: `npm run docs:images` fills a folder of its own, starts a model server and lockport on
 * it, signs in with a Chromium of this machine (`CHROMIUM`, else `chromium` on the path), and writes a picture of each page,
 * in both themes, to docs/images.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { LIVE_MODELS } from "./catalogue.ts";
import { fillDemo } from "./fill.ts";
import { startLockport } from "./lockport-process.ts";
import { startModelServer } from "./model-server.ts";

const IMAGES = join(import.meta.dir, "../../docs/images");
const SIZE = { width: 1280, height: 860 };
const SETTLED_MS_MAX = 15_000;

interface Scene {
  readonly name: string;
  readonly path: string;
  /** Steps before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
}

const SCENES: readonly Scene[] = [
  { name: "overview", path: "/" },
  { name: "usage", path: "/usage" },
  { name: "requests", path: "/requests", act: openFirstRow },
  { name: "errors", path: "/errors?range=30d" },
  { name: "models", path: "/models?resolve=smart" },
  { name: "playground", path: "/playground?model=qwen3-32b", act: ask },
  { name: "keys", path: "/keys" },
  { name: "relay-tokens", path: "/relay-tokens" },
  { name: "providers", path: "/providers" },
  { name: "people", path: "/people" },
  { name: "prices", path: "/models/prices" },
  { name: "audit", path: "/audit" },
  { name: "settings", path: "/settings" },
];

const executablePath = process.env["CHROMIUM"] ?? Bun.which("chromium");
if (executablePath === null)
  throw new Error("There is no Chromium here: install it, or name it in CHROMIUM.");
const folder = mkdtempSync(join(tmpdir(), "lockport-images-"));
const dataDir = join(folder, "data");
const models = await startModelServer({
  port: 0,
  chatModels: LIVE_MODELS.chat,
  embeddingModels: LIVE_MODELS.embeddings,
});
try {
  const filled = await fillDemo(dataDir, { days: 60, seed: 1, liveBaseUrl: models.baseUrl });
  const password = (await Bun.file(filled.adminPasswordPath).text()).trim();
  const server = startLockport({ dataDir, port: "0" });
  const browser = await chromium.launch({
    executablePath,
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  try {
    mkdirSync(IMAGES, { recursive: true });
    for (const theme of ["light", "dark"] as const) {
      await shootAll(await browser.newPage({ viewport: SIZE, colorScheme: theme }), {
        url: await server.url,
        password,
        theme,
      });
    }
  } finally {
    await browser.close();
    await server.stop();
  }
} finally {
  await models.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Tour {
  readonly url: string;
  readonly password: string;
  readonly theme: string;
}

async function shootAll(page: Page, { url, password, theme }: Tour): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await page.getByRole("textbox", { name: "Administrator password" }).waitFor();
  await shoot(page, "sign-in", theme);
  await page.getByRole("textbox", { name: "Administrator password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  for (const { name, path, act } of SCENES) {
    await page.goto(`${url}${path}`);
    await settle(page);
    await act?.(page);
    await shoot(page, name, theme);
  }
}

async function shoot(page: Page, name: string, theme: string): Promise<void> {
  const path = join(IMAGES, `${name}-${theme}.png`);
  // The other caret is hidden by a style element, which the page's policy forbids.
  await page.screenshot({ path, caret: "initial" });
  console.log(path);
}

/** Nothing is being asked for any more, nothing is busy, and what fades or slides in is there. */
async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle", { timeout: SETTLED_MS_MAX });
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null, undefined, {
    timeout: SETTLED_MS_MAX,
  });
  // A transition begins a frame after what it belongs to was drawn. A spinner has no end.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  await page.waitForFunction(
    () =>
      !document
        .getAnimations()
        .some(
          ({ effect, playState }) =>
            playState === "running" && Number.isFinite(Number(effect?.getComputedTiming().endTime)),
        ),
    undefined,
    { timeout: SETTLED_MS_MAX },
  );
}

async function openFirstRow(page: Page): Promise<void> {
  await page.locator("[data-row-open]").first().press("Enter");
  await page.getByRole("heading", { name: "Cost", level: 3 }).waitFor();
  await settle(page);
}

async function ask(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Message", exact: true }).fill("What does a lock keeper do?");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Cost", { exact: false }).first().waitFor();
  await settle(page);
}
