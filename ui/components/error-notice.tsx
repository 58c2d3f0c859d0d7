import { type ReactNode } from "react";
import { ApiFailure } from "../api/failure.ts";
import { findAdvice } from "../text/errors.ts";
import { Button, IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { CopyButton } from "./copy.tsx";
import { Icon } from "./icon.tsx";

export interface ErrorNoticeProps {
  /** An `ApiFailure`; any other error is one of the page. */
  readonly failure: Error;
  readonly onRetry?: (() => void) | undefined;
  /** Where it lies over something else. */
  readonly onDismiss?: (() => void) | undefined;
  /** Without the advice and with little room: a cell, a list. */
  readonly compact?: boolean | undefined;
}

/** A sentence of what happened, what to do, and the code to copy. It is read aloud when it appears. */
export function ErrorNotice({ failure, onRetry, onDismiss, compact = false }: ErrorNoticeProps): ReactNode {
  const { code, param } = toCode(failure);
  const advice = compact ? null : findAdvice(code);
  return (
    <div
      role="alert"
      className={classNames(
        "flex min-w-0 gap-2.5 rounded-card bg-bad-soft text-sm text-ink",
        compact ? "p-2.5" : "p-3.5",
      )}
    >
      <Icon name="warning" className="mt-0.5 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{failure.message}</p>
        {advice !== null && <p className="mt-0.5 text-ink-soft">{advice}</p>}
        <div className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1.5 text-xs text-ink-soft">
          <span className="inline-flex items-center gap-1">
            <code className="font-mono text-ink">{code}</code>
            <CopyButton iconOnly text={toReport(failure)} label="Copy the error" />
          </span>
          {param !== null && (
            <span>
              Field <code className="font-mono text-ink">{param}</code>
            </span>
          )}
          {onRetry !== undefined && (
            <Button size="sm" icon="refresh" onClick={onRetry}>
              Try again
            </Button>
          )}
        </div>
      </div>
      {onDismiss !== undefined && <IconButton size="sm" label="Dismiss" icon="close" onClick={onDismiss} />}
    </div>
  );
}

interface CodeAndParam {
  readonly code: string;
  readonly param: string | null;
}

function toCode(failure: Error): CodeAndParam {
  return failure instanceof ApiFailure
    ? { code: failure.code, param: failure.param }
    : { code: "page_error", param: null };
}

/** One line a person can send on. */
function toReport(failure: Error): string {
  const { code, param } = toCode(failure);
  const status = failure instanceof ApiFailure ? ` (HTTP ${failure.status})` : "";
  return `${code}${status}: ${failure.message}${param === null ? "" : ` [${param}]`}`;
}
