import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, type ReactNode, Suspense, useEffect, useLayoutEffect, useRef } from "react";
import { toCall as toCurlCall } from "#snippets/curl.ts";
import { toCall } from "../../api/chat.ts";
import { ApiFailure } from "../../api/failure.ts";
import type { RequestRow } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Badge } from "../../components/chip.tsx";
import { classNames } from "../../components/class-names.ts";
import { CodeBlock } from "../../components/code.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { Cost, Units } from "../../components/cost.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Duration } from "../../components/instant.tsx";
import { OutcomeBadge } from "../../components/outcome.tsx";
import { Spinner } from "../../components/progress.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { lazyPart } from "../../lazy-part.tsx";
import {
  type Exchange,
  type GrowingText,
  isBlank,
  isFindable,
  isLogged,
  isRunning,
  type Phase,
  PLAYGROUND_TAG,
  requestRowQuery,
  toWholeText,
} from "./exchange.ts";

interface ConversationProps {
  readonly exchanges: readonly Exchange[];
  /** How many models are asked now. */
  readonly sides: number;
  readonly onRetry: ((exchange: Exchange) => void) | undefined;
}

const SAID: { readonly [phase in Phase]: string } = {
  waiting: "Waiting for the answer",
  answering: "Receiving the answer",
  done: "The answer is complete",
  cancelled: "The answer was stopped",
  // The error is read by itself.
  failed: "",
};

/** What was asked and answered, the newest at the end. */
export function Conversation({ exchanges, sides, onRetry }: ConversationProps) {
  const last = exchanges.findLast(isRunning) ?? exchanges.at(-1);
  useFollowing(exchanges);
  return (
    <section aria-label="Conversation" className="min-w-0">
      <p role="status" className="sr-only">
        {last === undefined ? "" : SAID[last.phase]}
      </p>
      <ol className="divide-y divide-line">
        {[...Map.groupBy(exchanges, ({ turn }) => turn)].map(([turn, answers]) => (
          <li key={turn} className="flex min-w-0 flex-col gap-3 py-5 first:pt-0">
            <div className="max-w-[80ch] min-w-0 self-start rounded-card bg-sunken px-3 py-2">
              <h2 className="text-xs font-medium text-ink-soft">You</h2>
              <p className="mt-0.5 leading-6 break-words whitespace-pre-wrap">{answers[0]?.question}</p>
            </div>
            <div className={classNames("grid min-w-0 gap-6", answers.length > 1 && "md:grid-cols-2")}>
              {answers
                .toSorted((one, other) => one.side - other.side)
                .map((exchange) => (
                  <AnswerView
                    key={exchange.id}
                    exchange={exchange}
                    onRetry={turn === last?.turn && exchange.side < sides ? onRetry : undefined}
                  />
                ))}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The distance from the end of the page, in pixels, within which the reader still follows the answer. */
const FOLLOWING_PX = 96;

/** Keeps the end in sight while an answer comes, unless one has scrolled away from it to read. */
function useFollowing(exchanges: readonly Exchange[]): void {
  const isFollowing = useRef(true);
  useEffect(() => {
    const onScroll = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isFollowing.current = scrollHeight - clientHeight - scrollTop < FOLLOWING_PX;
    };
    document.addEventListener("scroll", onScroll, { passive: true });
    return () => document.removeEventListener("scroll", onScroll);
  }, []);
  const id = exchanges.at(-1)?.id;
  useLayoutEffect(() => {
    if (id !== undefined) isFollowing.current = true;
  }, [id]);
  useLayoutEffect(() => {
    if (exchanges.length > 0 && isFollowing.current) {
      document.documentElement.scrollTop = document.documentElement.scrollHeight;
    }
  }, [exchanges]);
}

interface AnswerViewProps {
  readonly exchange: Exchange;
  /** Absent: it is not the last one, or something is under way. */
  readonly onRetry: ((exchange: Exchange) => void) | undefined;
}

/** An answer, and what it took. */
const AnswerView = memo(function AnswerView({ exchange, onRetry }: AnswerViewProps) {
  const { phase, model, text, reasoning, failure } = exchange;
  const running = isRunning(exchange);
  return (
    <div className="flex min-w-0 flex-col gap-3 px-3">
      <div className="flex min-h-7 items-center gap-2">
        <h2 className="min-w-0 truncate text-xs font-medium text-ink-soft" title={model}>
          {model}
        </h2>
        {running && <Spinner />}
        {phase === "cancelled" && <Badge title="Partial answer">stopped</Badge>}
        {!running && (
          <span className="ml-auto flex items-center gap-1">
            <CopyButton text={toCurl(exchange)} label="As curl with my key" variant="ghost" />
            {!isBlank(text) && <CopyButton iconOnly text={toWholeText(text)} label="Copy the answer" />}
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
        {!isBlank(text) && (running ? <GrowingTextView text={text} /> : <EndedText text={text} />)}
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
  );
});

/** Of the proxy, before anything went to a provider: there is nothing to count. */
function isRefusal({ failure, head }: Exchange): boolean {
  return failure instanceof ApiFailure && failure.source !== "upstream" && (head?.provider ?? null) === null;
}

/** The request again, in a shell: the key is the variable's, since no key is kept. */
function toCurl({ call, model }: Exchange): string {
  const { path, headers, body } = toCall(call);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const subject = { origin: globalThis.location.origin, model, secret: null };
  return toCurlCall(subject, call.stream === false ? "curl -sS" : "curl -sS -N", path, body, ...lines);
}

const Markdown = lazyPart(async () => (await import("./markdown.tsx")).Markdown);

/** Longer texts stay as they are: they would take long to read as Markdown. */
const MARKDOWN_LENGTH_MAX = 200_000;

/** An answer that has ended is read as Markdown, and as plain text until that is loaded. */
function EndedText({ text }: { readonly text: GrowingText }) {
  const plain = <GrowingTextView text={text} />;
  const whole = toWholeText(text);
  if (whole.length > MARKDOWN_LENGTH_MAX) return plain;
  return (
    <Suspense fallback={plain}>
      <Markdown text={whole} />
    </Suspense>
  );
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

const ORDINARY_ENDINGS: ReadonlySet<string> = new Set(["stop", "completed", "end_turn"]);

/**
 * Who answered, what it took and what it cost: what the page saw at once, then what the request log says, which is what is
 * billed.
 */
function Figures({ exchange }: { readonly exchange: Exchange }) {
  const principal = useMe().name ?? "";
  const found = useQuery(requestRowQuery(exchange, principal));
  const row = found.data ?? null;
  const { head, ending } = exchange;
  const finishReason = ending?.finishReason ?? "stop";
  const isLooking = isFindable(exchange) && found.isPending;
  const provider = row?.provider ?? head?.provider ?? null;
  const upstreamName = row?.upstream_name ?? head?.upstreamName ?? null;
  return (
    <dl aria-busy={isLooking || undefined} className="flex flex-wrap gap-x-5 gap-y-2 text-xs">
      {provider !== null && <Figure name="Provider">{provider}</Figure>}
      {upstreamName !== null && (
        <Figure name="Upstream name">
          <span className="font-mono break-all">{upstreamName}</span>
        </Figure>
      )}
      <Figure name="First byte">
        <Duration durationMs={row === null ? exchange.firstByteMs : row.time_to_first_byte_ms} />
      </Figure>
      <Figure name="Duration">
        <Duration durationMs={row?.duration_ms ?? exchange.durationMs} />
      </Figure>
      {!ORDINARY_ENDINGS.has(finishReason) && (
        <Figure name="Ended by">
          <span className="font-mono">{finishReason}</span>
        </Figure>
      )}
      {isLogged(exchange) && (
        <>
          <Figure name="Tokens">
            {isLooking ? (
              <Skeleton className="h-4 w-32" />
            ) : (
              <Units units={row?.units ?? ending?.usage ?? {}} />
            )}
          </Figure>
          <Figure name="Cost">{isLooking ? <Skeleton className="h-4 w-16" /> : <RowCost row={row} />}</Figure>
          <Figure name="Outcome">
            {isLooking ? <Skeleton className="h-4 w-16" /> : <LoggedOutcome row={row} />}
          </Figure>
          <Figure name="Request log">
            {isLooking ? <Skeleton className="h-4 w-24" /> : <LogLink row={row} model={exchange.model} />}
          </Figure>
        </>
      )}
    </dl>
  );
}

interface RowProps {
  /** Null: the log did not have it in time. */
  readonly row: RequestRow | null;
}

/** A request without usage has nothing to price, which is not the same as a missing price. */
function RowCost({ row }: RowProps) {
  if (row === null) return <Absent />;
  if (row.cost !== null || Object.keys(row.units).length > 0) return <Cost value={row.cost} />;
  return (
    <span className="text-ink-faint">
      {row.outcome === "unreachable" ? "none: not sent" : "none: no usage reported"}
    </span>
  );
}

function LoggedOutcome({ row }: RowProps) {
  return row === null ? <Absent /> : <OutcomeBadge outcome={row.outcome} statusCode={row.status_code} />;
}

function Absent() {
  return <span className="text-ink-faint">not logged yet</span>;
}

function LogLink({ row, model }: RowProps & { readonly model: string }) {
  const className = "text-accent underline-offset-2 hover:underline";
  return row === null ? (
    <Link to="/requests" search={{ model, tag: [PLAYGROUND_TAG] }} className={className}>
      Find the request
    </Link>
  ) : (
    <Link to="/requests" search={{ open: row.id }} className={className}>
      Open the request
    </Link>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-0.5">
      <dt className="text-ink-faint">{name}</dt>
      <dd className="min-h-4 text-ink">{children}</dd>
    </div>
  );
}
