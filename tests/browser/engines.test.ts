import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { MEMBER_PAGES, ADMIN_PAGES } from "../../ui/shell/navigation.tsx";
import { type Engine, press, read, startFirefox, startWebKit, type } from "./support/engines.ts";
import { startSite } from "./support/site.ts";
import { eventually } from "./support/waiting.ts";

setDefaultTimeout(300_000);

const ENGINES = [
  { name: "Firefox", path: process.env["FIREFOX"], start: startFirefox },
  { name: "WebKit", path: process.env["WEBKIT_DRIVER"], start: startWebKit },
] as const;

const PATHS = [...MEMBER_PAGES, ...ADMIN_PAGES].map(({ to }) => to);

/** Until the page's title stands and nothing in it waits. */
async function settle(engine: Engine): Promise<void> {
  await read(engine, "//main//h1");
  await eventually(async () =>
    expect(await engine.evaluate("document.querySelectorAll('main [aria-busy=true]').length")).toBe(0),
  );
}

for (const { name, path, start } of ENGINES) {
  // Another engine is asked for by its variable: a machine has one browser as a rule.
  describe.skipIf(path === undefined)(`in ${name}`, () => {
    test("one signs in, opens every page, makes a key and asks a model, and the console stays silent", async () => {
      const site = await startSite({
        demo: { days: 14, seed: 1 },
        upstream: {
          script: (asked) => asked.reply({ body: ANSWER }),
          models: { fast: "vendor/fast" },
        },
      });
      const engine = await start(path ?? "");
      try {
        await engine.open(`${site.url}/`);
        await press(engine, "//input[@name='password']");
        await type(engine, site.adminPassword);
        await press(engine, "//button[.='Sign in']");
        await read(engine, "//main//h1[.='Overview']");
        await settle(engine);
        for (const to of PATHS) {
          await engine.open(site.url + to);
          await settle(engine);
          expect(await engine.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
          expect(await engine.evaluate(REFUSED)).toEqual([]);
          expect(await engine.evaluate(ENDLESS)).toEqual([]);
        }

        await engine.open(`${site.url}/keys`);
        await settle(engine);
        await press(engine, "//main//button[contains(., 'Create a key')]");
        await press(engine, "//*[@role='dialog']//label[.='Label']");
        await type(engine, "another engine\uE007");
        expect(await read(engine, "//*[@role='dialog']//*[.='Key']/following::input[1]")).toMatch(
          /^lp_\w{43}$/,
        );

        await engine.open(`${site.url}/playground?model=fast`);
        await settle(engine);
        await press(engine, "//main//textarea[@placeholder='Write a message']");
        await type(engine, "Hello");
        await press(engine, "//main//button[.='Send']");
        await read(engine, "//main//*[.='Good day']");
        expect(engine.said).toEqual([]);
      } finally {
        await engine.stop();
        await site.stop();
      }
    });
  });
}

/** Addresses of this document that were refused. */
const REFUSED =
  "performance.getEntriesByType('resource').filter((one) => one.responseStatus >= 400).map((one) => one.name)";
/** Tables that show a column or two of many. */
const ENDLESS =
  "[...document.querySelectorAll('table')].filter((one) => one.offsetWidth > 2 * innerWidth).map((one) => one.caption.innerText)";
const ANSWER = JSON.stringify({
  id: "1",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Good day" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
});
