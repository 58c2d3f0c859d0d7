import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { CopyButton } from "./copy.tsx";
import { Skeleton } from "./skeleton.tsx";

export interface CodeBlockProps {
  readonly code: string;
  /** The name of the region, such as `curl` or `Python`. */
  readonly language: string;
  /** Wraps long lines instead of scrolling. */
  readonly wrap?: boolean | undefined;
  /** `Copy`, when absent. */
  readonly copyLabel?: string | undefined;
  readonly onCopied?: (() => void) | undefined;
}

/** Code as it is: it scrolls inside its own region, which the keyboard reaches. */
export function CodeBlock(props: CodeBlockProps): ReactNode {
  const { code, language, wrap = false, copyLabel = "Copy", onCopied } = props;
  return (
    <figure className="min-w-0 overflow-hidden rounded-card border border-line bg-sunken">
      <figcaption className="flex min-h-10 items-center justify-between gap-2 border-b border-line py-1.5 pr-1.5 pl-3 text-xs text-ink-soft">
        {language}
        <CopyButton text={code} label={copyLabel} variant="ghost" onCopied={onCopied} />
      </figcaption>
      <pre
        tabIndex={0}
        role="region"
        aria-label={language}
        className={classNames(
          "max-h-96 overflow-auto p-3 font-mono text-xs leading-5 text-ink focus-visible:-outline-offset-2",
          wrap ? "break-words whitespace-pre-wrap" : "wrap-normal whitespace-pre",
        )}
      >
        <code>{code}</code>
      </pre>
    </figure>
  );
}

/** A block of four lines that is about to be. */
export function CodeSkeleton(): ReactNode {
  return (
    <div aria-busy>
      <Skeleton className="h-37 w-full" />
    </div>
  );
}

/** A name or a code inside a sentence. */
export function InlineCode({ children }: { readonly children: ReactNode }): ReactNode {
  return <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.8125em] text-ink">{children}</code>;
}

/** A key as it is printed on a keyboard. */
export function Kbd({ children }: { readonly children: string }): ReactNode {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line-strong bg-surface px-1 font-mono text-xs text-ink-soft">
      {children}
    </kbd>
  );
}
