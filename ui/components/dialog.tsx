import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, type RefObject, useInsertionEffect, useRef } from "react";
import { SurfaceContext, useGuardedSurface } from "../form/unsaved.ts";
import { Button, type ButtonLook } from "./button.tsx";
import { classNames } from "./class-names.ts";
import {
  BACKDROP_CLASS,
  CLOSE_CLASS,
  DIALOG_CLASS,
  FOOTER_CLASS,
  giveFocusBack,
  VIEWPORT_CLASS,
} from "./dialog-frame.ts";
import { Icon } from "./icon.tsx";

export interface DialogProps {
  readonly open: boolean;
  /** Asked for by Esc, a press outside or the close button: leave `open` as it is to keep the dialog. */
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  /** Buttons, the primary one last. */
  readonly footer?: ReactNode;
  readonly size?: "sm" | "md" | "lg" | "xl" | undefined;
  /** A press outside does not close: something typed or shown once would be lost. */
  readonly keepOnOutsidePress?: boolean | undefined;
  /** Where the focus goes when it closes; to where it came from when absent or null. */
  readonly toFinalFocus?: (() => HTMLElement | null) | undefined;
}

/**
 * A modal dialog. The focus goes in, stays in, and returns to what opened it. Esc, a press outside and the close button ask
 * first where a form in it holds what was typed.
 */
export function Dialog(props: DialogProps): ReactNode {
  const {
    open,
    onOpenChange,
    title,
    description,
    children,
    footer,
    size = "md",
    keepOnOutsidePress = false,
    toFinalFocus,
  } = props;
  const opener = useOpener(open);
  const guarded = useGuardedSurface(onOpenChange);
  return (
    <Base.Root
      open={open}
      onOpenChange={(next) => guarded.onOpenChange(next)}
      disablePointerDismissal={keepOnOutsidePress}
    >
      <Base.Portal>
        {/* Also above another surface, such as a panel, which would else stay as bright as the dialog. */}
        <Base.Backdrop forceRender className={BACKDROP_CLASS} />
        <Base.Viewport className={VIEWPORT_CLASS}>
          <Base.Popup
            finalFocus={() => giveFocusBack(toFinalFocus?.() ?? findOpener(opener))}
            className={classNames(DIALOG_CLASS, WIDTH[size])}
          >
            <header className="py-4 pr-13 pl-5">
              <Base.Title className="text-base font-semibold text-ink">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description render={<div />} className="mt-1 text-ink-soft">
                  {description}
                </Base.Description>
              )}
            </header>
            <SurfaceContext value={guarded.surfaces}>
              <div className="min-w-0 px-5 pb-5">{children}</div>
            </SurfaceContext>
            {footer !== undefined && <footer className={FOOTER_CLASS}>{footer}</footer>}
            {/* Last, so that the focus goes to the content first. */}
            <Base.Close aria-label="Close" className={classNames(CLOSE_CLASS, "absolute top-3 right-3")}>
              <Icon name="close" />
            </Base.Close>
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

/** Asks the dialog or the panel around it to close, as Esc does. */
export function CloseButton({ variant, children }: CloseButtonProps): ReactNode {
  return <Base.Close render={<Button variant={variant} />}>{children}</Base.Close>;
}

interface CloseButtonProps extends Pick<ButtonLook, "variant"> {
  readonly children: string;
}

const WIDTH = { sm: "max-w-md", md: "max-w-xl", lg: "max-w-3xl", xl: "max-w-5xl" } as const;

/** The element that had the focus when the dialog opened. A field that takes it by itself is quicker than the dialog is to look. */
function useOpener(open: boolean): RefObject<HTMLElement | null> {
  const opener = useRef<HTMLElement>(null);
  useInsertionEffect(() => {
    if (open) opener.current = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  }, [open]);
  return opener;
}

/** Null where it is gone, or where nothing had the focus. */
function findOpener({ current }: RefObject<HTMLElement | null>): HTMLElement | null {
  return current !== null && current !== document.body && current.isConnected ? current : null;
}
