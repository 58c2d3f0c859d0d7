import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useRef } from "react";
import { SurfaceContext, useGuardedSurface } from "../form/unsaved.ts";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { BACKDROP_CLASS, CLOSE_CLASS, FOOTER_CLASS, giveFocusBack } from "./dialog-frame.ts";
import { EmptyState } from "./empty.tsx";
import { Icon } from "./icon.tsx";

export interface SidePanelProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  /** Where the focus goes when it closes; to where it came from when absent or null. */
  readonly toFinalFocus?: (() => HTMLElement | null) | undefined;
  /** `right` when absent. */
  readonly side?: "left" | "right" | undefined;
}

/**
 * A drawer at an edge, for the details of a row, as wide as the window on a telephone. Esc closes, or
 * asks first where a form in it holds what was typed; the focus returns.
 */
export function SidePanel(props: SidePanelProps): ReactNode {
  const { open, onOpenChange, title, description, children, footer, side = "right", toFinalFocus } = props;
  const surface = useRef<HTMLDivElement>(null);
  const guarded = useGuardedSurface(onOpenChange);
  return (
    <Base.Root open={open} onOpenChange={(next) => guarded.onOpenChange(next)}>
      <Base.Portal>
        <Base.Backdrop className={BACKDROP_CLASS} />
        {/* The surface takes the focus: a screen reader then reads the title, and arrow keys scroll. */}
        <Base.Popup
          ref={surface}
          initialFocus={surface}
          finalFocus={toFinalFocus === undefined || (() => giveFocusBack(toFinalFocus()))}
          className={classNames(PANEL_CLASS, EDGE_CLASS[side])}
        >
          <header className="sticky top-0 z-10 flex items-start justify-between gap-4 border-b border-line bg-raised px-5 py-3.5">
            <div className="min-w-0">
              <Base.Title className="text-base font-semibold text-ink">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description render={<div />} className="mt-0.5 text-ink-soft">
                  {description}
                </Base.Description>
              )}
            </div>
            <Base.Close aria-label="Close" className={classNames(CLOSE_CLASS, "-mt-1 -mr-2")}>
              <Icon name="close" />
            </Base.Close>
          </header>
          <SurfaceContext value={guarded.surfaces}>
            <div className="min-w-0 flex-1 px-5 py-4">{children}</div>
          </SurfaceContext>
          {footer !== undefined && (
            <footer className={classNames(FOOTER_CLASS, "sticky bottom-0 bg-raised")}>{footer}</footer>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The padding of a scroll keeps what takes the focus from lying under the header or the footer. */
const PANEL_CLASS =
  "scroll-py-16 fixed inset-y-0 z-30 flex w-full flex-col overflow-x-hidden overflow-y-auto border-line bg-raised text-sm text-ink shadow-raised outline-hidden transition-[opacity,translate] duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0";

const EDGE_CLASS = {
  right: "right-0 sm:max-w-lg sm:border-l data-ending-style:translate-x-4 data-starting-style:translate-x-4",
  left: "left-0 sm:max-w-xs sm:border-r data-ending-style:-translate-x-4 data-starting-style:-translate-x-4",
} as const;

interface GonePanelProps {
  /** The kind of thing that the address asks for: `model`, `person or service`. */
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
