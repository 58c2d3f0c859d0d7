import { ApiFailure } from "../../api/failure.ts";
import { CodeBlock } from "../../components/code.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";

export interface FailureViewProps {
  readonly failure: Error;
  /** Who answered, or would have. */
  readonly provider: string | null;
  readonly onRetry: (() => void) | undefined;
}

/** Who refused, in which words, and what else the provider sent. */
export function FailureView({ failure, provider, onRetry }: FailureViewProps) {
  const detail = failure instanceof ApiFailure ? failure.detail : null;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <p className="text-xs text-ink-soft">{toOrigin(failure, provider)}</p>
      <ErrorNotice failure={failure} onRetry={onRetry} />
      {detail !== null && detail !== "" && (
        <details>
          <summary className="w-fit rounded-control text-xs text-ink-soft">Response of the provider</summary>
          <div className="mt-1">
            <CodeBlock code={detail} language="Response body" wrap />
          </div>
        </details>
      )}
    </div>
  );
}

function toOrigin(failure: Error, provider: string | null): string {
  if (!(failure instanceof ApiFailure)) return "An error occurred in this page.";
  const name = provider === null ? "the provider" : `the provider ${provider}`;
  if (failure.source === "upstream") return `The error comes from ${name} (HTTP ${failure.status}).`;
  if (failure.source === "page")
    return "The connection between this page, the server and the provider failed.";
  if (failure.code === "provider_unreachable") return `Lockport could not get an answer from ${name}.`;
  return `Lockport refused the request (HTTP ${failure.status}); no provider was asked.`;
}
