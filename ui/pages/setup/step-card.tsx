import { type ReactNode, useEffect, useRef } from "react";
import { Card } from "../../components/card.tsx";
import { classNames } from "../../components/class-names.ts";
import { Icon } from "../../components/icon.tsx";

export interface StepCardProps {
  readonly number: number;
  readonly title: string;
  readonly state: "done" | "now" | "later";
  /** What it has come to, or what it is for. */
  readonly lead: ReactNode;
  /** Shown while it is the step to do. */
  readonly children: ReactNode;
}

/** One step of the setup: open while it is to be done, one line before and after. */
export function StepCard({ number, title, state, lead, children }: StepCardProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(state);
  // The button that led here is gone, and the focus with it.
  useEffect(() => {
    if (state === "now" && before.current !== "now") heading.current?.focus();
    before.current = state;
  }, [state]);
  return (
    <li aria-current={state === "now" ? "step" : undefined}>
      <Card>
        <div className="flex items-start gap-3">
          <span
            aria-hidden="true"
            className={classNames(
              "flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-medium",
              MARK[state],
            )}
          >
            {state === "done" ? <Icon name="check" size={14} /> : number}
          </span>
          <div className="min-w-0">
            <h2
              ref={heading}
              tabIndex={-1}
              className={classNames("leading-6 font-semibold", state !== "now" && "text-ink-soft")}
            >
              {title}
              {state === "done" && <span className="sr-only"> (done)</span>}
            </h2>
            <p className="max-w-prose break-words text-ink-soft">{lead}</p>
          </div>
        </div>
        {state === "now" && <div className="mt-4">{children}</div>}
      </Card>
    </li>
  );
}

const MARK = {
  done: "bg-good-soft text-good",
  now: "bg-accent text-accent-ink",
  later: "bg-sunken text-ink-soft",
} as const;
