import { memo } from "react";
import { ApiFailure } from "../../api/failure.ts";
import { Badge } from "../../components/chip.tsx";
import { CodeBlock } from "../../components/code.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Spinner } from "../../components/progress.tsx";
import { type Exchange, type GrowingText, isBlank, isRunning, toWholeText } from "./exchange.ts";
import { Figures } from "./figures.tsx";

export interface ExchangeViewProps {
  readonly exchange: Exchange;
  /** Absent: it is not the last one, or something is under way. */
  readonly onRetry: ((exchange: Exchange) => void) | undefined;
}

/** A question, its answer, and what that took. */
export const ExchangeView = memo(function ExchangeView({ exchange, onRetry }: ExchangeViewProps) {
  const { phase, model, question, text, reasoning, failure } = exchange;
  const running = isRunning(exchange);
  return (
    <li className="flex min-w-0 flex-col gap-3 py-5 first:pt-0">
      <div className="max-w-[80ch] min-w-0 self-start rounded-card bg-sunken px-3 py-2">
        <h2 className="text-xs font-medium text-ink-soft">You</h2>
        <p className="mt-0.5 leading-6 break-words whitespace-pre-wrap">{question}</p>
      </div>
      <div className="flex min-w-0 flex-col gap-3 px-3">
        <div className="flex min-h-7 items-center gap-2">
          <h2 className="min-w-0 truncate text-xs font-medium text-ink-soft" title={model}>
            {model}
          </h2>
          {running && <Spinner />}
          {phase === "cancelled" && <Badge title="Partial answer">stopped</Badge>}
          {!running && !isBlank(text) && (
            <span className="ml-auto">
              <CopyButton iconOnly text={toWholeText(text)} label="Copy the answer" />
            </span>
          )}
        </div>
        {!isBlank(reasoning) && (
          <details className="text-ink-soft">
            <summary className="w-fit rounded-control text-xs">Thinking</summary>
            <div className="mt-1 border-l-2 border-line pl-3">
              <GrowingTextView text={reasoning} />
            </div>
          </details>
        )}
        {/* A screen reader reads the whole answer: word by word it could not be followed. */}
        <div aria-live="polite" aria-busy={running} className="min-h-6 empty:hidden">
          {!isBlank(text) && <GrowingTextView text={text} />}
          {phase === "done" && isBlank(text) && (
            <p className="text-ink-faint">The model answered without any text.</p>
          )}
        </div>
        {failure !== null && (
          <FailureView
            failure={failure}
            provider={exchange.head?.provider ?? null}
            onRetry={onRetry === undefined ? undefined : () => onRetry(exchange)}
          />
        )}
        {!running && !isRefusal(exchange) && <Figures exchange={exchange} />}
      </div>
    </li>
  );
});

/** Of the proxy, before anything went to a provider: there is nothing to count. */
function isRefusal({ failure, head }: Exchange): boolean {
  return failure instanceof ApiFailure && failure.source !== "upstream" && (head?.provider ?? null) === null;
}

/** A model's text as it is, every space and line break of it; never read as markup. */
function GrowingTextView({ text }: { readonly text: GrowingText }) {
  return (
    <div className="max-w-[80ch] leading-6 break-words whitespace-pre-wrap">
      {text.closed.map((piece, index) => (
        <Piece key={index} text={piece} />
      ))}
      {text.open !== "" && <div>{text.open}</div>}
    </div>
  );
}

/** Never drawn again. */
const Piece = memo(function Piece({ text }: { readonly text: string }) {
  return <div>{text}</div>;
});

interface FailureViewProps {
  readonly failure: Error;
  /** Who answered, or would have. */
  readonly provider: string | null;
  readonly onRetry: (() => void) | undefined;
}

/** Who refused, in which words, and what else the provider sent. */
function FailureView({ failure, provider, onRetry }: FailureViewProps) {
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

/** A browser keeps the status of a redirect to itself. */
function toStatusNote({ status }: ApiFailure): string {
  return status === 0 ? "" : ` (HTTP ${status})`;
}

function toOrigin(failure: Error, provider: string | null): string {
  if (!(failure instanceof ApiFailure)) return "An error occurred in this page.";
  const name = provider === null ? "the provider" : `the provider ${provider}`;
  if (failure.source === "upstream") return `The error comes from ${name}${toStatusNote(failure)}.`;
  if (failure.source === "page")
    return "The connection between this page, the server and the provider failed.";
  if (failure.code === "provider_unreachable") return `Lockport could not get an answer from ${name}.`;
  return `Lockport refused the request (HTTP ${failure.status}); no provider was asked.`;
}
