import { type ReactNode } from "react";

/** Where there is nothing to show: no figure, no name. */
export function Absent(): ReactNode {
  return <span className="text-ink-faint">–</span>;
}
