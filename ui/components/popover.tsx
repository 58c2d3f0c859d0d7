import { Popover as Base } from "@base-ui/react/popover";
import type { ReactElement, ReactNode, RefObject } from "react";

export interface PopoverProps {
  /** A `<Button>` or another button; it is told apart as the one that opens. */
  readonly trigger: ReactElement<Record<string, unknown>>;
  /** The accessible name of what opens, and its heading. */
  readonly title: string;
  readonly children: ReactNode;
  readonly open?: boolean | undefined;
  readonly onOpenChange?: ((open: boolean) => void) | undefined;
  readonly align?: "start" | "center" | "end" | undefined;
}

/** A small surface beside its button; Esc and a press outside close it, and the focus returns. */
export function Popover(props: PopoverProps): ReactNode {
  const { trigger, title, children, open, onOpenChange, align = "start" } = props;
  return (
    <Base.Root {...(open === undefined ? {} : { open })} onOpenChange={(next) => onOpenChange?.(next)}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} align={align} collisionPadding={8} className="z-40">
          <Base.Popup className={POPUP}>
            <Base.Title className="mb-2 font-semibold">{title}</Base.Title>
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

const POPUP =
  "max-h-(--available-height) max-w-(--available-width) overflow-y-auto rounded-card border border-line bg-raised p-3 text-sm text-ink shadow-raised outline-hidden transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0";

export interface BesideProps {
  /** The element that it stands below. */
  readonly anchor: RefObject<HTMLElement | null>;
  /** The accessible name. */
  readonly title: string;
  readonly children: ReactNode;
}

/** A note below what is being typed, above the rest of the page; the focus stays in the field. */
export function Beside({ anchor, title, children }: BesideProps): ReactNode {
  return (
    <Base.Root open>
      <Base.Portal>
        <Base.Positioner
          anchor={anchor}
          side="bottom"
          align="end"
          sideOffset={6}
          collisionPadding={8}
          className="z-40"
        >
          <Base.Popup
            initialFocus={false}
            finalFocus={false}
            aria-label={title}
            className="w-80 max-w-(--available-width) rounded-card border border-line bg-raised p-3 text-left text-sm text-ink shadow-raised outline-hidden"
          >
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
