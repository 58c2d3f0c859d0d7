import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { EmptyState } from "./empty.tsx";
import { SidePanel } from "./panel.tsx";

export interface GonePanelProps {
  /** What the address asks for: `model`, `person or service`. */
  readonly what: string;
  /** The name by which it was asked for, when people know it. */
  readonly name?: string | undefined;
  readonly onClose: () => void;
}

/** In place of the panel of something that is not there, by an old address or because it was deleted meanwhile. */
export function GonePanel({ what, name, onClose }: GonePanelProps): ReactNode {
  return (
    <SidePanel open onOpenChange={(next) => !next && onClose()} title={name ?? "Nothing to show"}>
      <EmptyState
        icon="search"
        title={`This ${what} does not exist`}
        body="It may have been deleted or renamed. Unsaved changes to it are lost."
        action={<Button onClick={onClose}>Show the list</Button>}
      />
    </SidePanel>
  );
}
