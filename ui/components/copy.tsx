import { type ReactNode, useEffect, useRef, useState } from "react";
import { buttonClass, type ButtonLook } from "./button.tsx";
import { Icon } from "./icon.tsx";

export interface CopyButtonProps extends ButtonLook {
  readonly text: string;
  /** The accessible name, such as `Copy key`, and the text unless `iconOnly`. */
  readonly label: string;
  readonly iconOnly?: boolean | undefined;
  readonly onCopied?: (() => void) | undefined;
}

const SHOWN_MS = 2000;

/** Copies on a press, on secure and on plain http origins alike, and says aloud that it did or could not. */
export function CopyButton(props: CopyButtonProps): ReactNode {
  const { text, label, iconOnly = false, variant = "secondary", size = "sm", onCopied } = props;
  const { result, copy } = useCopy(text, onCopied);
  const look = buttonClass({ variant: iconOnly ? "ghost" : variant, size });
  return (
    <span className="relative inline-flex">
      <button
        type="button"
        // What the button shows is part of its name: people who speak to it say what they see.
        aria-label={result === "copied" && !iconOnly ? `${label}: Copied` : label}
        title={label}
        onClick={copy}
        className={iconOnly ? `${look} w-7 px-0` : look}
      >
        <Icon name={result === "copied" ? "check" : "copy"} />
        {!iconOnly && <CopyLabel label={label} isCopied={result === "copied"} />}
      </button>
      <span role="status" className={result === "failed" ? FAILED_CLASS : "sr-only"}>
        {result === "copied"
          ? "Copied"
          : result === "failed"
            ? "Not copied: select the text and copy it manually"
            : ""}
      </span>
    </span>
  );
}

const FAILED_CLASS =
  "absolute top-full right-0 z-10 mt-1 w-48 rounded-control bg-bad-soft px-2 py-1 text-xs font-normal text-bad shadow-raised";

type CopyResult = "copied" | "failed" | null;

/** Both texts lie in one cell, so that the button never changes its width. */
function CopyLabel({ label, isCopied }: { readonly label: string; readonly isCopied: boolean }): ReactNode {
  return (
    <span className="grid text-left">
      <span className={isCopied ? "invisible col-start-1 row-start-1" : "col-start-1 row-start-1"}>
        {label}
      </span>
      <span className={isCopied ? "col-start-1 row-start-1" : "invisible col-start-1 row-start-1"}>
        Copied
      </span>
    </span>
  );
}

function useCopy(text: string, onCopied: (() => void) | undefined): { result: CopyResult; copy: () => void } {
  const [result, setResult] = useState<CopyResult>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  function show(isCopied: boolean): void {
    setResult(isCopied ? "copied" : "failed");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setResult(null), SHOWN_MS);
    if (isCopied) onCopied?.();
  }
  return { result, copy: () => void copyText(text).then(show) };
}

/**
 * Puts text on the clipboard; resolves to whether it is there. The clipboard interface exists on https and on the own
 * machine only, so on `http://vm:4000` a hidden text area and the old copy command take its place.
 * Call it from a press or a key: browsers allow it at no other time.
 */
async function copyText(text: string): Promise<boolean> {
  if (await writeClipboard(text)) return true;
  return copyBySelection(text);
}

async function writeClipboard(text: string): Promise<boolean> {
  // Typed as always there, absent on an insecure origin.
  if (!window.isSecureContext || !("clipboard" in navigator)) return false;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.tabIndex = -1;
  area.setAttribute("aria-hidden", "true");
  area.className = "fixed top-0 left-0 size-px opacity-0";
  // Inside the open dialog: its focus trap takes the focus back from anything outside, and nothing would be selected.
  (focused?.closest('[role="dialog"], [role="alertdialog"]') ?? document.body).append(area);
  area.focus({ preventScroll: true });
  area.setSelectionRange(0, text.length);
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }
}
