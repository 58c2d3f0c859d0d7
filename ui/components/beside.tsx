import { Popover } from "@base-ui/react/popover";
import { type ReactNode, type RefObject } from "react";

export interface BesideProps {
  /** What it stands below. */
  readonly anchor: RefObject<HTMLElement | null>;
  /** The accessible name. */
  readonly title: string;
  readonly children: ReactNode;
}

/** A note below what is being typed, above the rest of the page; the focus stays in the field. */
export function Beside({ anchor, title, children }: BesideProps): ReactNode {
  return (
    <Popover.Root open>
      <Popover.Portal>
        <Popover.Positioner
          anchor={anchor}
          side="bottom"
          align="end"
          sideOffset={6}
          collisionPadding={8}
          className="z-40"
        >
          <Popover.Popup
            initialFocus={false}
            finalFocus={false}
            aria-label={title}
            className="w-80 max-w-(--available-width) rounded-card border border-line bg-raised p-3 text-left text-sm text-ink shadow-raised outline-hidden"
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
