import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toPagePolicy } from "#http/page/page.ts";
import { runProcess } from "../support/process.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFits, checkFitsSmall } from "./support/layout.ts";
import { checkNoShift, readVitals } from "./support/vitals.ts";
import type { VisitorOptions } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

/** A page of a test's own: what stands in `<main>`, and its style sheet and script, which are files as the policy wants. */
interface Draft {
  readonly body: string;
  readonly css?: string;
  readonly js?: string;
}

const QUIET: Draft = { body: "<h1>Quiet</h1><p>Nothing to say.</p><button>Go</button>" };

let draft: Draft = QUIET;
let server: ReturnType<typeof Bun.serve>;

beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ url }) {
      const { pathname, host } = new URL(url);
      const answer = (text: string, type: string) => toAnswer(text, type, host);
      if (pathname === "/assets/draft.css") return answer(draft.css ?? "", "text/css");
      if (pathname === "/assets/draft.js") return answer(draft.js ?? "", "text/javascript");
      if (pathname !== "/") return new Response("nothing here", { status: 404 });
      return answer(toHtml(draft), "text/html; charset=utf-8");
    },
  });
});
afterAll(() => server.stop(true));
afterEach(() => {
  draft = QUIET;
});

function toAnswer(text: string, type: string, host: string): Response {
  const policy = toPagePolicy({ host, publicUrl: null });
  return new Response(text, { headers: { "content-type": type, "content-security-policy": policy } });
}

function toHtml({ body }: Draft): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Draft</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><link rel="stylesheet" href="/assets/draft.css">
</head><body><main>${body}</main><script src="/assets/draft.js"></script></body></html>`;
}

async function open(shown: Draft, options: Partial<VisitorOptions> = {}) {
  draft = shown;
  const visitor = await browser.newVisitor({ baseUrl: `http://127.0.0.1:${server.port}`, ...options });
  await visitor.page.goto("/");
  return visitor;
}

/** The message that the promise throws; fails when it throws nothing. */
async function complaint(check: Promise<unknown>): Promise<string> {
  const failure: unknown = await check.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(failure instanceof Error)) return expect.unreachable("nothing was found");
  return failure.message;
}

describeInBrowser("a visitor", () => {
  test("of a quiet page has nothing to complain of, by any check, and the checks leave no trace", async () => {
    const visitor = await open(QUIET);
    await checkAccessibility(visitor.page);
    await checkFits(visitor.page);
    await checkFitsSmall(visitor.page);
    await checkNoShift(visitor.page);
    expect(await tabThrough(visitor.page)).toEqual(['button "Go"']);
    await visitor.check();
    expect(visitor.problems).toEqual([]);
    expect(visitor.page.viewportSize()).toEqual({ width: 1280, height: 800 });
  });

  const loud: readonly (readonly [what: string, draft: Draft, said: readonly RegExp[]])[] = [
    [
      "a message on the console",
      { ...QUIET, js: 'console.error("boom")' },
      [/^console: error: boom \(http.*\/draft\.js:1\)$/],
    ],
    ["a mere log line", { ...QUIET, js: 'console.log("hello")' }, [/^console: log: hello/]],
    ["an error that nobody caught", { ...QUIET, js: 'throw new Error("broken")' }, [/^page error: .*broken/]],
    [
      "a rejection that nobody caught",
      { ...QUIET, js: 'Promise.reject(new Error("refused"))' },
      [/^page error: .*refused/],
    ],
    [
      "an inline script",
      { body: "<h1>Inline</h1><script>window.ran = true</script>" },
      [
        /^policy: script-src-elem blocked inline/,
        /^policy: script-src-elem broken: kInlineViolation/,
        /^console: error: Executing inline script/,
      ],
    ],
    [
      "an inline style",
      { body: '<h1 style="color: red">Inline</h1>' },
      [
        /^policy: style-src-attr blocked inline/,
        /^policy: style-src-attr broken/,
        /^console: error: Applying inline style/,
      ],
    ],
    [
      "text that becomes markup",
      { ...QUIET, js: 'try { document.querySelector("p").innerHTML = "<b>x</b>" } catch {}' },
      [
        /^policy: require-trusted-types-for blocked trusted-types-sink: Element innerHTML\|<b>x<\/b>/,
        /kTrustedTypesSinkViolation/,
        /^console: error: .*TrustedHTML/,
      ],
    ],
    [
      "a missing file",
      { ...QUIET, js: 'fetch("/missing")' },
      [/^request: GET http.*\/missing answered 404$/],
    ],
    [
      "a foreign server",
      { body: '<h1>Foreign</h1><img alt="" src="http://127.0.0.2:9/x.png">' },
      [
        /^policy: img-src blocked http:\/\/127\.0\.0\.2:9\/x\.png/,
        /^policy: img-src broken/,
        /^console: error: .*127\.0\.0\.2/,
        /^request: GET .*127\.0\.0\.2.* failed: csp/,
      ],
    ],
    ["an alert", { ...QUIET, js: 'alert("in the way")' }, [/^dialog: alert: in the way$/]],
  ];
  for (const [what, shown, said] of loud) {
    test(`hears ${what}`, async () => {
      const visitor = await open(shown);
      await eventually(async () => {
        const lines = (await complaint(visitor.check())).split("\n").map((line) => line.trim());
        for (const pattern of said) expect(lines).toContainEqual(expect.stringMatching(pattern));
      });
      expect(await visitor.page.evaluate("window.ran")).toBeUndefined();
      // As a test does that means to hear it; the end of the test then fails for whatever else there was.
      for (const pattern of said) visitor.expect(pattern);
      await visitor.check();
    });
  }

  test("complains when an expected message never comes", async () => {
    const visitor = await open(QUIET);
    visitor.expect(/^console: error: boom/);
    expect(await complaint(visitor.check())).toContain("expected, but never said: /^console: error: boom/");
    await visitor.page.evaluate('console.error("boom")');
    await eventually(() => visitor.check());
  });

  test("hears a window that the page opens as well", async () => {
    const visitor = await open({
      ...QUIET,
      js: 'document.querySelector("button").onclick = () => open("/missing")',
    });
    const [popup] = await Promise.all([
      visitor.context.waitForEvent("page"),
      visitor.page.getByRole("button").click(),
    ]);
    await popup.waitForLoadState();
    await eventually(async () => {
      expect(await complaint(visitor.check())).toMatch(/request: GET http.*\/missing answered 404/);
    });
    visitor.expect(/\/missing answered 404/);
  });

  test("is asked before a page is left that wants it, and stays or leaves as told", async () => {
    const { page, leaving } = await open({
      body: '<h1>Draft</h1><a href="/?elsewhere">Elsewhere</a>',
      js: 'addEventListener("beforeunload", (event) => event.preventDefault())',
    });
    leaving.answer = "stay";
    await Promise.all([page.waitForEvent("dialog"), page.getByRole("link").click()]);
    await eventually(() => expect(leaving.asked).toBe(1));
    expect(page.url()).not.toContain("elsewhere");
    leaving.answer = "leave";
    await Promise.all([page.waitForURL("/?elsewhere"), page.getByRole("link").click()]);
    expect(leaving.asked).toBe(2);
  });

  test("comes with the theme, zone, language, zoom and stillness that the test names", async () => {
    const { page } = await open(QUIET, {
      theme: "dark",
      timezoneId: "America/New_York",
      locale: "de-DE",
      viewport: { width: 1200, height: 900 },
      zoom: 2,
      motion: "full",
    });
    const seen: unknown = await page.evaluate(`({
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
      still: matchMedia("(prefers-reduced-motion: reduce)").matches,
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      language: navigator.language,
      width: innerWidth,
      ratio: devicePixelRatio,
    })`);
    expect(seen).toEqual({
      dark: true,
      still: false,
      zone: "America/New_York",
      language: "de-DE",
      width: 600,
      ratio: 2,
    });
  });

  test("reaches this machine alone", async () => {
    const visitor = await open(QUIET);
    expect(await complaint(visitor.page.goto("http://example.com/"))).toContain("ERR_NAME_NOT_RESOLVED");
    visitor.expect(/^request: GET http:\/\/example\.com\/ failed: net::ERR_NAME_NOT_RESOLVED/);
  });
});

describeInBrowser("axe", () => {
  test("names the rule and the place of a fault, also of contrast in the dark theme alone", async () => {
    const { page } = await open({
      body: '<h1>Picture</h1><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    });
    const text = await complaint(checkAccessibility(page));
    expect(text).toContain("image-alt (critical)");
    expect(text).toContain("at img");

    const css =
      "@media (prefers-color-scheme: dark) { body { background: #111 } p { color: #333 } h1 { color: #fff } }";
    const dark = { body: "<h1>Dim</h1><p>Hardly to be read</p>", css };
    await checkAccessibility((await open(dark)).page);
    expect(await complaint(checkAccessibility((await open(dark, { theme: "dark" })).page))).toContain(
      "color-contrast",
    );
  });

  test("waits until what fades in is there", async () => {
    const css = "p { animation: in 400ms } @keyframes in { from { opacity: 0.05 } }";
    await checkAccessibility((await open({ body: "<h1>Slow</h1><p>Here at last</p>", css })).page);
  });
});

describeInBrowser("a walk by Tab", () => {
  const FIELDS =
    '<h1>Form</h1><a href="/">Home</a><label>Name <input></label><label><input type="radio" name="r" checked>One</label><label><input type="radio" name="r">Two</label><button>Save</button><button disabled>Never</button><div inert><button>Inert</button></div><details><summary>More</summary><button>Folded</button></details>';

  test("names every stop once, in order, and asks for nothing that Tab should not reach", async () => {
    const { page } = await open({ body: FIELDS });
    expect(await tabThrough(page)).toEqual([
      'a "Home"',
      "input",
      'input "r"',
      'button "Save"',
      'summary "More"',
    ]);
    // Wherever it begins.
    await page.getByRole("button", { name: "Save" }).focus();
    expect((await tabThrough(page))[0]).toBe('summary "More"');
  });

  test("accepts a ring that is drawn as a shadow, on a label or by a background, also with a transition, and a link that appears", async () => {
    const css = `:focus-visible { outline: none }
      a:focus-visible { box-shadow: 0 0 0 2px blue; transition: box-shadow 2s }
      label:has(input:focus-visible) { outline: 2px solid blue }
      input[type=radio] { opacity: 0 } label { display: block }
      .skip { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
      .skip:focus { clip-path: none; width: auto; height: auto; position: static }
      button:focus-visible { background: yellow } summary:focus-visible { text-decoration: underline }`;
    const { page } = await open({ body: `<a class="skip" href="#main">Skip</a>${FIELDS}`, css });
    expect(await tabThrough(page)).toHaveLength(6);
  });

  test("finds a focus that nobody can see: no ring, a clear one, or one on the neighbour alone", async () => {
    const body =
      '<h1>Rings</h1><button id="none">None</button><button id="clear">Clear</button><button id="fine">Fine</button>';
    const css = `#none { outline: none } #clear:focus-visible { outline: 2px solid transparent; box-shadow: 0 0 #0000, 0 0 0 0 blue }`;
    const { page } = await open({ body, css });
    const text = await complaint(tabThrough(page));
    expect(text).toContain('button "None" #none looks the same with the focus and without it');
    expect(text).toContain('button "Clear" #clear looks the same');
    expect(text).not.toContain("#fine looks");
  });

  test("finds a stop that lies under something or out of the window", async () => {
    const body =
      '<h1>Under</h1><button id="under">Under</button><div id="lid"></div><button id="far">Far</button><button>Fine</button>';
    const css = `#under { position: fixed; top: 0; left: 0 } #lid { position: fixed; inset: 0 0 auto 0; height: 80px; background: #fff }
      #far { position: fixed; left: -400px } button { margin-top: 0 } main { padding-top: 90px }`;
    const { page } = await open({ body, css });
    const text = await complaint(tabThrough(page));
    expect(text).toContain('button "Under" #under has the focus where nobody can see it');
    expect(text).toContain('button "Far" #far has the focus where nobody can see it');
    expect(text).not.toContain('"Fine" has');
  });

  test("finds a trap, and what lies behind it", async () => {
    const { page } = await open({
      body: '<h1>Trap</h1><button id="a">A</button><button id="b">B</button><button id="c">C</button>',
      js: 'document.querySelector("#b").addEventListener("keydown", (event) => { if (event.key === "Tab") event.preventDefault() })',
    });
    const text = await complaint(tabThrough(page));
    expect(text).toContain("the focus is caught");
    expect(text).toContain('Tab never reaches button "C"');
  });

  test("inside a dialog wants the focus kept, and complains when it is not", async () => {
    const body =
      '<h1>Dialog</h1><button>Behind</button><dialog aria-label="Ask"><button>Yes</button><button>No</button></dialog>';
    const modal = await open({ body, js: 'document.querySelector("dialog").showModal()' });
    expect(await tabThrough(modal.page, { within: "dialog" })).toEqual(['button "No"', 'button "Yes"']);
    const loose = await open({ body, js: 'document.querySelector("dialog").show()' });
    expect(await complaint(tabThrough(loose.page, { within: "dialog" }))).toContain(
      'the focus went out of dialog "Ask"',
    );
  });
});

describeInBrowser("the layout", () => {
  test("too wide for a phone is named with its element, and what a box scrolls or cuts is not", async () => {
    const body =
      '<h1>Wide</h1><p id="wide">x</p><div id="scroller"><p class="long">x</p></div><div id="cut"><p class="long">x</p></div>';
    const css =
      "#wide { width: 500px } .long { width: 3000px } #scroller { overflow-x: auto } #cut { overflow: hidden }";
    const { page } = await open({ body, css });
    await checkFits(page);
    const text = await complaint(checkFitsSmall(page));
    expect(text).toContain("at 360 px: it scrolls");
    expect(text).toContain('out of reach: p "x" #wide from 8 to 508 px');
    expect(text).not.toContain("long");
    expect(text).not.toContain("200 % zoom");
    expect(page.viewportSize()).toEqual({ width: 1280, height: 800 });
  });

  test("that hides what sticks out of the page is found all the same", async () => {
    const { page } = await open({
      body: '<h1>Hidden</h1><p id="lost">x</p>',
      css: "html, body { overflow-x: hidden } #lost { width: 2000px }",
    });
    expect(await complaint(checkFits(page))).toContain("#lost");
  });

  test("that moves by itself is told with what moved, and what a click moves is not", async () => {
    const js = `window.grow = () => document.querySelector("h1").classList.toggle("tall");
      document.querySelector("button").onclick = window.grow;`;
    const { page } = await open({ ...QUIET, css: ".tall { height: 300px }", js });
    await page.getByRole("button").click();
    await checkNoShift(page);
    // The half second after an input excuses a shift; this waits until a shift of its own is counted.
    await page.evaluate(`new Promise((resolve) => {
      const observer = new PerformanceObserver((list) => {
        if (list.getEntries().some((entry) => !entry.hadRecentInput)) resolve(observer.disconnect());
        else window.grow();
      });
      observer.observe({ type: "layout-shift" });
      window.grow();
    })`);
    const text = await complaint(checkNoShift(page));
    expect(text).toMatch(/shifts its layout by 0\.\d+/);
    expect(text).toContain('button "Go"');
  });

  test("is painted at a time that is known, and long tasks are counted", async () => {
    const { page } = await open({
      ...QUIET,
      js: "const end = performance.now() + 120; while (performance.now() < end);",
    });
    // The browser tells of a paint when it has time.
    await eventually(async () => {
      const { lcpMs, longTasks, cls } = await readVitals(page);
      expect(lcpMs).toBeGreaterThan(0);
      expect(longTasks.some(({ durationMs }) => durationMs >= 100)).toBe(true);
      expect(cls).toBe(0);
    });
  });
});

describeInBrowser("the clipboard", () => {
  const copy = `document.querySelector("button").onclick = async () => {
    if (navigator.clipboard) return navigator.clipboard.writeText("by the interface");
    const field = document.createElement("textarea");
    document.body.append(field);
    field.value = "by the command";
    field.select();
    document.execCommand("copy");
    field.remove();
  };`;

  test("is read on a secure origin, and on an insecure one, where the interface is withheld", async () => {
    const secure = await open({ ...QUIET, js: copy });
    expect(await copiedBy(secure.page, () => secure.page.getByRole("button").click())).toBe(
      "by the interface",
    );
    const insecure = await open({ ...QUIET, js: copy }, { insecureOrigin: true });
    expect(insecure.page.url()).toBe(`http://vm.test:${server.port}/`);
    expect(await insecure.page.evaluate("isSecureContext || 'clipboard' in navigator")).toBe(false);
    expect(await copiedBy(insecure.page, () => insecure.page.getByRole("button").click())).toBe(
      "by the command",
    );
  });

  test("holds nothing of before when nothing is copied", async () => {
    const { page } = await open(QUIET);
    expect(await complaint(copiedBy(page, () => page.getByRole("button").click()))).toBe(
      "nothing was copied",
    );
  });
});

describe("without a browser", () => {
  const load = (env: Record<string, string>) =>
    runProcess([process.execPath, "test", fileURLToPath(import.meta.resolve("./fixtures/absent.ts"))], {
      cwd: join(import.meta.dir, "../.."),
      env: { PATH: "/nowhere", ...env },
    });

  test("the tests are skipped with a notice on a developer's machine, and fail in CI", async () => {
    const alone = await load({});
    expect(alone.messages).toContain("the browser tests are skipped");
    expect(alone.messages).toContain("1 skip");
    expect(alone.code).toBe(0);
    const ci = await load({ CI: "true" });
    expect(ci.messages).toContain("CI does not go without the browser tests");
    expect(ci.code).not.toBe(0);
  });
});
