import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export interface EmptyStateProps {
  readonly title: string;
  readonly body?: ReactNode;
  /** The next step: a button or a link. */
  readonly action?: ReactNode;
  readonly icon?: IconName | undefined;
  /** It stands for the whole page, whose heading it is. */
  readonly isPage?: boolean | undefined;
}

/** Nothing here yet, why, and what to do next. */
export function EmptyState({ title, body, action, icon, isPage = false }: EmptyStateProps): ReactNode {
  return (
    <div className="flex flex-col items-center gap-1.5 px-6 py-10 text-center">
      {icon !== undefined && (
        <span className="mb-1.5 flex size-9 items-center justify-center rounded-full bg-sunken text-ink-faint">
          <Icon name={icon} />
        </span>
      )}
      {isPage ? (
        <h1 className="text-base font-medium text-ink">{title}</h1>
      ) : (
        <p className="font-medium text-ink">{title}</p>
      )}
      {body !== undefined && <div className="max-w-prose text-ink-soft">{body}</div>}
      {action !== undefined && <div className="mt-3 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

/** In the place of rows that could not be asked for: an empty list would say that there are none. */
export function NotLoaded(): ReactNode {
  return <EmptyState icon="warning" title="Could not be loaded" body="The error above says why" />;
}

/** Where there is nothing to show: no figure, no name. */
export function Absent(): ReactNode {
  return <span className="text-ink-faint">–</span>;
}
