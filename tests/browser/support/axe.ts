import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "axe-core";
import type { CDPSession, Page } from "playwright-core";
import { callInPage } from "./in-page.ts";
import { isOtherTheme } from "./themes.ts";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] as const;
/**
 * What does not hold while a menu or a list of options is open, and harms nobody. Both hang at the end of the document, tied
 * to their button or field, and ARIA has no landmark for them (`region`). Until they close, a screen reader is kept to
 * them (`page-has-heading-one`), and what is behind cannot be reached: the first Tab closes them (`aria-hidden-focus`).
 */
const POPUP = "[role=menu], [role=listbox]";
const RULES_OUTSIDE_POPUPS = ["region", "page-has-heading-one", "aria-hidden-focus"] as const;
/** Stops of Base UI's that hand the focus on as soon as they have it. */
const FOCUS_GUARD = "[data-base-ui-focus-guard]";
/** Half faded out, any text lacks contrast. */
const LEAVING = "[data-ending-style]";
/** All that a theme can change. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

const axeSource = readFileSync(join(import.meta.dir, "../../../node_modules/axe-core/axe.min.js"), "utf8");

/**
 * Throws, naming rule and place, when axe finds a violation of WCAG 2.0 to 2.2 A and AA or of its best practices in the
 * page as it is now. It runs in a world of its own, so the page keeps its policy and learns nothing of it. In the dark theme
 * only what depends on colors is checked, for tests that check the same in the light one.
 */
export async function checkAccessibility(page: Page, theme: "light" | "dark" = "light"): Promise<void> {
  // Nothing is drawn before the part that holds it has come.
  await page.locator("h1").first().waitFor({ state: "attached" });
  // Half faded in, any text lacks contrast.
  await callInPage(page, "stillness");
  const session = await page.context().newCDPSession(page);
  try {
    const violations = await runAxe(session, isOtherTheme(page) || theme === "dark" ? COLOR_RULES : TAGS);
    if (violations.length > 0) {
      throw new Error([`axe finds fault with ${page.url()}`, ...violations.map(toText)].join("\n\n"));
    }
  } finally {
    await session.detach();
  }
}

async function runAxe(session: CDPSession, runOnly: readonly string[]): Promise<readonly Result[]> {
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
    worldName: "axe",
  });
  await session.send("Runtime.evaluate", { contextId, expression: axeSource });
  // Style sheets are not fetched once more, and what was fine is not sent: that would be half of the time.
  const options = { runOnly, resultTypes: ["violations"], preload: false };
  const rules = Object.fromEntries(RULES_OUTSIDE_POPUPS.map((rule) => [rule, { enabled: false }]));
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    contextId,
    expression: `axe.run(
      { exclude: ${JSON.stringify([FOCUS_GUARD, LEAVING])} },
      document.querySelector(${JSON.stringify(POPUP)}) === null || ${runOnly === COLOR_RULES}
        ? ${JSON.stringify(options)}
        : ${JSON.stringify({ ...options, rules })},
    ).then(({ violations }) => violations)`,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) {
    throw new Error(`axe did not run: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
  }
  return result.value;
}

function toText({ id, impact, help, nodes }: Result): string {
  const places = nodes.map(
    ({ target, html, failureSummary }) =>
      `  at ${target.join(" ")}\n     ${html}\n     ${failureSummary?.replaceAll("\n", "\n     ") ?? ""}`,
  );
  return [`${id} (${impact ?? "?"}): ${help}`, ...places].join("\n");
}
