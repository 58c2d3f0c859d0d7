import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { REPORT_NAME } from "../page/shapes.ts";

export interface Problem {
  readonly kind: "console" | "page error" | "policy" | "request" | "issue" | "dialog" | "crash";
  readonly text: string;
}

export interface ProblemWatch {
  /** Problems seen so far, each once, in order. */
  readonly problems: readonly Problem[];
  readonly leaving: Leaving;
  forget(): void;
  /** Fulfilled when the page is also watched by what the browser itself finds; before its first navigation. */
  attached(page: Page): Promise<void>;
}

/** Questions whether to leave a page without saving, and how they are answered from now on. */
export interface Leaving {
  asked: number;
  answer: "leave" | "stay";
}

/** What the browser finds besides policy violations, as its developers' tools list it. */
const ISSUES: ReadonlySet<string> = new Set([
  "MixedContentIssue",
  "BlockedByResponseIssue",
  "DeprecationIssue",
  "QuirksModeIssue",
]);

/** Listens to everything that a page of this context should not have to say. */
export async function watchProblems(context: BrowserContext): Promise<ProblemWatch> {
  const found = new Map<string, Problem>();
  const add = (kind: Problem["kind"], text: string) => {
    if (!found.has(`${kind}: ${text}`)) found.set(`${kind}: ${text}`, { kind, text });
  };

  await context.exposeFunction(REPORT_NAME, (text: string) => add("policy", text));
  context.on("console", (message) => {
    const { url, lineNumber } = message.location();
    // Each of these is told of below, with its method and status.
    if (message.type() === "error" && message.text().startsWith("Failed to load resource: ")) return;
    add("console", `${message.type()}: ${message.text()} (${url}:${lineNumber + 1})`);
  });
  context.on("weberror", (error) => add("page error", error.error().stack ?? error.error().message));
  context.on("response", (response) => {
    if (response.status() >= 400) {
      add("request", `${response.request().method()} ${response.url()} answered ${response.status()}`);
    }
  });
  context.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "failed";
    // The page turned away: it navigated, or ended the request itself.
    if (reason === "net::ERR_ABORTED") return;
    add("request", `${request.method()} ${request.url()} failed: ${reason}`);
  });

  const leaving: Leaving = { asked: 0, answer: "leave" };
  context.on("dialog", (dialog) => {
    if (dialog.type() === "beforeunload") {
      leaving.asked += 1;
      const answered = leaving.answer === "leave" ? dialog.accept() : dialog.dismiss();
      // A page that closes at once takes its question with it.
      void answered.catch(() => undefined);
      return;
    }
    // The product has dialogs of its own: this is somebody's script.
    add("dialog", `${dialog.type()}: ${dialog.message()}`);
    void dialog.dismiss().catch(() => undefined);
  });

  const attachments = new Map<Page, Promise<void>>();
  const attached = (page: Page): Promise<void> => {
    let attachment = attachments.get(page);
    if (attachment === undefined) {
      page.on("crash", () => add("crash", page.url()));
      attachment = context.newCDPSession(page).then((session) => watchIssues(session, add));
      attachments.set(page, attachment);
    }
    return attachment;
  };
  // A page that closes at once takes its session with it.
  context.on("page", (page) => void attached(page).catch(() => undefined));

  return {
    get problems() {
      return [...found.values()];
    },
    leaving,
    forget: () => found.clear(),
    attached,
  };
}

/** True for the page that the browser itself shows where an address has none: its faults are its own. */
function isOfBrowser({ quirksModeIssueDetails: quirks }: IssueDetails): boolean {
  return quirks?.url.startsWith("chrome-error:") === true;
}

interface IssueDetails {
  readonly quirksModeIssueDetails?: { readonly url: string };
}

/** The browser's own list: no page can keep anything out of it. */
async function watchIssues(
  session: CDPSession,
  add: (kind: Problem["kind"], text: string) => void,
): Promise<void> {
  session.on("Audits.issueAdded", ({ issue: { code, details } }) => {
    const violation = details.contentSecurityPolicyIssueDetails;
    if (code === "ContentSecurityPolicyIssue" && violation !== undefined) {
      const { contentSecurityPolicyViolationType, violatedDirective, sourceCodeLocation } = violation;
      add(
        "policy",
        `${violatedDirective} broken: ${contentSecurityPolicyViolationType} at ${sourceCodeLocation?.url ?? "?"}`,
      );
    } else if (ISSUES.has(code) && !isOfBrowser(details)) add("issue", `${code} ${JSON.stringify(details)}`);
  });
  await session.send("Audits.enable");
}
