import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { INSECURE_HOST } from "./chromium.ts";
import { callInPage, inPageScript } from "./in-page.ts";
import { watchProblems, type Leaving, type Problem } from "./problems.ts";
import { watchRequests } from "./rest.ts";
import { shoot } from "./screenshots.ts";

/** A page that is asked for something it does not have says so before its test runs out of time. */
const STEP_MS_MAX = 10_000;
const VIEWPORT = { width: 1280, height: 800 };

export interface VisitorOptions {
  /** The base of relative addresses, such as a site's `url`. */
  readonly baseUrl: string;
  /** The theme that the system asks for. Default `light`. */
  readonly theme?: "light" | "dark";
  /** Default Asia/Kathmandu, 5:45 ahead of UTC: local time that slips onto the page is seen. */
  readonly timezoneId?: string;
  /** Default en-US. */
  readonly locale?: string;
  /** The window, before zooming. Default 1280 × 800. */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** As with the browser's zoom, 2 leaves half as many CSS pixels, each twice as large. Default 1. */
  readonly zoom?: number;
  /** Comes by `http://vm.test:<port>`, where the browser withholds what it gives to secure origins only. */
  readonly insecureOrigin?: boolean;
  /** Default: reduced, as nothing then has to be waited for or drawn in between. */
  readonly motion?: "reduced" | "full";
  /** Asks for little data: a visit that takes seconds then fetches no other page's files in advance. Default false. */
  readonly savesData?: boolean;
}

/** Options of a profile that was another test's before. */
export type Renewal = Pick<VisitorOptions, "theme" | "viewport">;

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Where this visitor comes by, without a slash at the end. */
  readonly baseUrl: string;
  /** Problems that were reported so far, expected or not. */
  readonly problems: readonly Problem[];
  readonly leaving: Leaving;
  /** The page will say this, as `<kind>: <text>`; that it does not is a failure too. */
  expect(pattern: RegExp): void;
  /** A browser with a window says this, one without may not. */
  allow(pattern: RegExp): void;
  /** Throws, naming each, when the pages said what nobody expected, or not what was expected. */
  check(): Promise<void>;
  /**
   * Forgets what was said, expected and kept in the page's storage, lets go of what a test held back, and closes all pages
   * but the first, which stays where it is.
   */
  renew(options: Renewal): Promise<void>;
  /** `check`, and the end of the profile. */
  close(): Promise<void>;
}

/** A profile of its own with one empty page. */
export async function openVisitor(browser: Browser, options: VisitorOptions): Promise<Visitor> {
  const baseUrl = toBaseUrl(options);
  const context = await browser.newContext(toContextOptions(options, baseUrl));
  context.setDefaultTimeout(STEP_MS_MAX);
  await context.addInitScript({ content: await inPageScript() });
  if (options.savesData === true) {
    await context.addInitScript(
      "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })",
    );
  }
  const watch = await watchProblems(context);
  context.on("page", watchRequests);
  const page = await context.newPage();
  await watch.attached(page);

  const expected: RegExp[] = [];
  const allowed: RegExp[] = [];
  // A test that broke off may have left answers held back; what becomes of them then is nobody's fault.
  const letGo = () =>
    Promise.all([context, ...context.pages()].map((one) => one.unrouteAll({ behavior: "ignoreErrors" })));
  const check = async () => {
    await Promise.all(context.pages().map(settle));
    judge(
      watch.problems.filter(({ kind, text }) => !allowed.some((pattern) => pattern.test(`${kind}: ${text}`))),
      expected,
    );
  };
  return {
    page,
    context,
    baseUrl,
    get problems() {
      return watch.problems;
    },
    leaving: watch.leaving,
    expect: (pattern) => void expected.push(pattern),
    allow: (pattern) => void allowed.push(pattern),
    check,
    async renew({ theme = "light", viewport = VIEWPORT }) {
      await letGo();
      for (const other of context.pages()) if (other !== page) await other.close();
      await page.evaluate("localStorage.clear(); sessionStorage.clear()").catch(() => undefined);
      watch.leaving.asked = 0;
      watch.leaving.answer = "leave";
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize(viewport);
      watch.forget();
      expected.length = 0;
      allowed.length = 0;
    },
    async close() {
      try {
        await check();
      } catch (error) {
        await shoot(page, `not-silent-${Bun.randomUUIDv7()}`).catch(() => null);
        throw error;
      } finally {
        await letGo();
        await context.close();
      }
    },
  };
}

function toBaseUrl({ baseUrl, insecureOrigin = false }: VisitorOptions): string {
  const url = new URL(baseUrl);
  if (insecureOrigin) url.hostname = INSECURE_HOST;
  return url.origin;
}

function toContextOptions(options: VisitorOptions, baseURL: string): BrowserContextOptions {
  const { theme = "light", timezoneId = "Asia/Kathmandu", locale = "en-US", zoom = 1 } = options;
  const { width, height } = options.viewport ?? VIEWPORT;
  return {
    baseURL,
    colorScheme: theme,
    timezoneId,
    locale,
    viewport: { width: Math.round(width / zoom), height: Math.round(height / zoom) },
    deviceScaleFactor: zoom,
    reducedMotion: options.motion === "full" ? "no-preference" : "reduce",
    // A browser with a window grants this to every secure origin at a click, the headless shell to none.
    permissions: ["clipboard-write"],
  };
}

/** Lets reports that are under way arrive. A page that is gone, or shows no document of ours, has none. */
async function settle(page: Page): Promise<void> {
  await callInPage(page, "settle").catch(() => undefined);
}

function judge(problems: readonly Problem[], expected: readonly RegExp[]): void {
  const lines = problems.map(({ kind, text }) => `${kind}: ${text}`);
  const unexpected = lines.filter((line) => !expected.some((pattern) => pattern.test(line)));
  const missing = expected.filter((pattern) => !lines.some((line) => pattern.test(line)));
  const complaints = [...unexpected, ...missing.map((pattern) => `expected, but never said: ${pattern}`)];
  if (complaints.length > 0) throw new Error(["The page was not silent.", ...complaints].join("\n  "));
}
