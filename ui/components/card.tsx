import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";

export interface CardProps {
  readonly title?: string | undefined;
  /** A line under the title. */
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** No padding around the content: a table or a list that draws to the edge. */
  readonly flush?: boolean | undefined;
  readonly className?: string | undefined;
}

/** A section on a surface of its own, with a heading of level 2. No landmark: a page of cards would be all landmarks. */
export function Card({ title, lead, actions, children, flush = false, className }: CardProps): ReactNode {
  return (
    <section
      className={classNames(
        "min-w-0 rounded-card border border-line bg-surface",
        // Not hidden: what is sticky within goes on to stick to the window.
        flush && "overflow-clip",
        className,
      )}
    >
      {(title !== undefined || actions !== undefined) && (
        <header
          className={classNames(
            "flex flex-wrap items-start justify-between gap-x-4 gap-y-2 px-4 pt-3.5",
            flush ? "pb-3" : "pb-0",
          )}
        >
          <div className="min-w-0">
            {title !== undefined && <h2 className="font-semibold text-ink">{title}</h2>}
            {lead !== undefined && <p className="mt-0.5 text-xs text-ink-soft">{lead}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={flush ? "min-w-0" : "min-w-0 p-4"}>{children}</div>
    </section>
  );
}
