import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { type Me, meQuery } from "../api/session.ts";
import { SignInWays } from "./sign-in-ways.tsx";

/** The person may sign in in another tab or window. */
const LOOK_MS = 2_000;

export interface SignInAgainProps {
  readonly me: Me;
}

/** Asks for a new sign-in above a page in use, so that work on it goes on. */
export function SignInAgain({ me }: SignInAgainProps) {
  const { refetch } = useQuery({ ...meQuery(), refetchInterval: LOOK_MS });
  return (
    <TopDialog
      title="Sign in again"
      description="Your session has ended. You will return to the page you were on."
    >
      <SignInWays
        me={me}
        onSignedIn={async () => void (await refetch())}
        ssoLink={{ target: "_blank", rel: "noopener" }}
      />
      <p className="text-xs text-ink-faint">
        What you have typed stays here as it is
        {me.sso_enabled ? "; single sign-on opens in a new tab" : ""}. Once you are signed in in another tab,
        this page goes on by itself.
      </p>
    </TopDialog>
  );
}

interface TopDialogProps {
  readonly title: string;
  readonly description: ReactNode;
  readonly children: ReactNode;
}

/**
 * A question above all else, for as long as it is drawn: nothing closes it. The browser itself keeps it above other dialogs,
 * which stay open with what was typed in them; the focus comes from there, and goes back there.
 */
function TopDialog({ title, description, children }: TopDialogProps): ReactNode {
  const [host] = useState(() => document.createElement("div"));
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown === null) return undefined;
    document.body.append(host);
    shown.showModal();
    const ended = new AbortController();
    const { signal } = ended;
    // After what listens in here: the dialogs beneath listen on the document, and would close by the same Esc.
    host.addEventListener("keydown", (event) => keepIn(event), { signal });
    // Where something else than a key may close it, such as the way back of a telephone.
    shown.addEventListener("close", () => shown.showModal(), { signal });
    return () => {
      ended.abort();
      shown.close();
      host.remove();
    };
  }, [host]);
  return createPortal(
    <dialog
      ref={dialog}
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-description`}
      className={TOP_CLASS}
    >
      <header className="px-5 pt-4">
        <h2 id={`${id}-title`} className="text-base font-semibold text-ink">
          {title}
        </h2>
        <p id={`${id}-description`} className="mt-1 text-ink-soft">
          {description}
        </p>
      </header>
      <div className="flex min-w-0 flex-col gap-4 p-5">{children}</div>
    </dialog>,
    host,
  );
}

function keepIn(event: KeyboardEvent): void {
  event.stopPropagation();
  if (event.key === "Escape") event.preventDefault();
}

/** The page beneath is as dim as under any dialog, and too blurred to be read by a passer-by. */
const TOP_CLASS =
  "m-auto flex max-h-[calc(100dvh-1.5rem)] w-[calc(100vw-1.5rem)] max-w-md flex-col overflow-y-auto rounded-card border border-line bg-raised text-sm text-ink shadow-raised outline-hidden backdrop:bg-backdrop backdrop:backdrop-blur-sm";
