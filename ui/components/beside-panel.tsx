import { type ReactNode, useEffect, useEffectEvent, useId, useRef } from "react";
import { IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { FOOTER_CLASS } from "./dialog-frame.ts";

export interface BesidePanelProps {
  readonly title: string;
  readonly description?: ReactNode;
  /** Icon buttons beside the one that closes. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  readonly onClose: () => void;
  /** It was opened by the keyboard: the focus goes into it, as it does where the panel covers the page. */
  readonly takesFocus: boolean;
  /** Gets the focus that is within the panel when it closes; null leaves it where the browser puts it. */
  readonly toFinalFocus: () => HTMLElement | null;
  /** Keys pressed anywhere on the page while it is open; Esc closes by itself. Returns whether the key is taken. */
  readonly onPageKey: (event: KeyboardEvent) => boolean;
}

/** The page beneath makes room for the panel, so that nothing is covered; on a narrow window the panel covers all of it. */
export const BESIDE_CLASS = "lg:pr-[25.5rem]";

/**
 * Details beside the page, which stays in use: no backdrop, no trap for the focus. It stays open until it is closed. What was opened
 * by the keyboard, or covers the page, takes the focus.
 */
export function BesidePanel(props: BesidePanelProps): ReactNode {
  const { title, description, actions, children, footer, onClose, takesFocus, toFinalFocus, onPageKey } =
    props;
  const titleId = useId();
  const surface = useRef<HTMLDivElement>(null);
  useFocusWithin(surface, { takesFocus, toFinalFocus });
  usePageKeys((event) => {
    if (event.key !== "Escape") return onPageKey(event);
    onClose();
    return true;
  });
  return (
    <div
      ref={surface}
      role="dialog"
      aria-modal="false"
      aria-labelledby={titleId}
      tabIndex={-1}
      className="fixed inset-y-0 right-0 z-30 flex w-full scroll-py-16 flex-col overflow-x-hidden overflow-y-auto bg-raised text-sm text-ink outline-hidden lg:w-[26rem] lg:border-l lg:border-line"
    >
      <header className="sticky top-0 z-10 flex items-start justify-between gap-4 border-b border-line bg-raised px-5 py-3.5">
        <div className="min-w-0">
          <h2 id={titleId} className="text-base font-semibold text-ink">
            {title}
          </h2>
          {description !== undefined && <div className="mt-0.5 text-ink-soft">{description}</div>}
        </div>
        <div className="-mt-1 -mr-2 flex shrink-0 items-center">
          {actions}
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      <div className="min-w-0 flex-1 px-5 py-4">{children}</div>
      {footer !== undefined && (
        <footer className={classNames(FOOTER_CLASS, "sticky bottom-0 bg-raised")}>{footer}</footer>
      )}
    </div>
  );
}

/** From this width on it stands beside the page. */
const BESIDE_MIN = window.matchMedia("(min-width: 64rem)");

function useFocusWithin(
  surface: { readonly current: HTMLDivElement | null },
  { takesFocus, toFinalFocus }: Pick<BesidePanelProps, "takesFocus" | "toFinalFocus">,
) {
  const enter = useEffectEvent(() => {
    if (takesFocus || !BESIDE_MIN.matches) surface.current?.focus({ preventScroll: true });
  });
  const leave = useEffectEvent((panel: HTMLDivElement | null) => {
    // It has gone from the document by now, and the focus that was within with it.
    const { activeElement } = document;
    if (activeElement === document.body || panel?.contains(activeElement) === true) {
      toFinalFocus()?.focus({ preventScroll: true });
    }
  });
  useEffect(() => {
    const panel = surface.current;
    enter();
    return () => leave(panel);
  }, [surface]);
}

/** What keeps its keys to itself while it is open. What is on its way out is not; a surface beside the page is not either. */
const POPUPS =
  ":is([role=dialog]:not([aria-modal=false]),[role=alertdialog],[role=menu],[role=listbox]):not([data-closed])";
const FIELDS = "input, textarea, select, [role=combobox], [contenteditable=true]";

/**
 * Calls `onKey` for each key that is pressed anywhere on the page, but not for those that are typed into a field, are meant for
 * an open popup, have a modifier or were taken already. The key is taken when `onKey` returns true.
 */
function usePageKeys(onKey: (event: KeyboardEvent) => boolean): void {
  const take = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest(FIELDS) !== null) return;
    if (document.querySelector(POPUPS) === null && onKey(event)) event.preventDefault();
  });
  useEffect(() => {
    document.addEventListener("keydown", take);
    return () => document.removeEventListener("keydown", take);
  }, []);
}
