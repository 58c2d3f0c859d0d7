import type { ReactNode } from "react";

export interface OutdatedProps {
  /** The content answers an earlier question, and the answer to the new one is on its way. */
  readonly when: boolean;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

/**
 * Keeps what answers an earlier question in its place, dimmed at once, so that nobody takes it for what the filters say; the page
 * shows a thin bar when the answer takes longer than 150 ms (`data-outdated` in styles.css). Tables do so by their `busy`.
 */
export function Outdated({ when, className, children }: OutdatedProps): ReactNode {
  return (
    <div aria-busy={when || undefined} data-outdated={when || undefined} className={className}>
      {children}
    </div>
  );
}
