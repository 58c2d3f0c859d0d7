import { REPORT_NAME } from "./shapes.ts";

type Report = (text: string) => void;

/** Fields of the reports' bodies, whose types the library does not tell apart. */
interface ViolationBody {
  readonly effectiveDirective?: string;
  readonly blockedURL?: string | null;
  readonly sample?: string | null;
  readonly message?: string;
}

/**
 * Tells of each violation of the content policy, Trusted Types among them, by the event and by the Reporting API: a
 * page may stop the first from travelling, and the second is not sent for what was blocked before it was there.
 */
export function watchViolations(): void {
  const report = (text: string) => (globalThis as unknown as Record<string, Report>)[REPORT_NAME]?.(text);
  const tell = (violation: { effectiveDirective: string; blocked: string; sample: string }) =>
    report(
      `${violation.effectiveDirective} blocked ${violation.blocked}${violation.sample && `: ${violation.sample}`}`,
    );

  document.addEventListener(
    "securitypolicyviolation",
    ({ effectiveDirective, blockedURI, sample }) => tell({ effectiveDirective, blocked: blockedURI, sample }),
    { capture: true },
  );
  new ReportingObserver(
    (reports) => {
      for (const { type, body } of reports) {
        const { effectiveDirective, blockedURL, sample, message } = body as ViolationBody;
        if (type === "csp-violation") {
          tell({
            effectiveDirective: effectiveDirective ?? "",
            blocked: blockedURL ?? "",
            sample: sample ?? "",
          });
        } else report(`${type}: ${message ?? ""}`);
      }
    },
    { buffered: true },
  ).observe();
}
