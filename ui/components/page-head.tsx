import { type ReactNode } from "react";

export interface PageHeadProps {
  readonly title: string;
  readonly lead?: ReactNode;
  /** Buttons, the primary one last. */
  readonly actions?: ReactNode;
}

/** The headline of a page. The title of the window is the shell's. */
export function PageHead({ title, lead, actions }: PageHeadProps): ReactNode {
  return (
    <header className="mb-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="text-xl font-semibold tracking-tight text-ink">{title}</h1>
        {lead !== undefined && <p className="mt-1 text-ink-soft">{lead}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}
