import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ComponentType, useEffect, useRef, useState } from "react";
import { KEYS } from "../api/keys.ts";
import type { Me } from "../api/session.ts";
import { importPart } from "../stale.ts";
import type { SignInAgainProps } from "./sign-in-again.tsx";

export interface EndedSession {
  /** What is shown above the page, which stays as it is; null while somebody is signed in. */
  readonly SignInAgain: ComponentType<SignInAgainProps> | null;
}

/**
 * Watches for the end of the session, and for the next one: once the same person is back, everything is asked anew; another
 * one sees nothing that was asked for by the one before.
 */
export function useEndedSession({ authenticated, name }: Me): EndedSession {
  const queryClient = useQueryClient();
  const router = useRouter();
  const [Part, setPart] = useState<ComponentType<SignInAgainProps> | null>(null);
  useEffect(() => {
    if (authenticated) return;
    importPart(() => import("./sign-in-again.tsx")).then(
      ({ SignInAgain }) => setPart(() => SignInAgain),
      // To the page that is for it.
      () => router.invalidate(),
    );
  }, [authenticated, router]);

  const shown = useRef({ authenticated, name });
  useEffect(() => {
    const before = shown.current;
    shown.current = { authenticated, name };
    const asked = { predicate: isAskedByPerson };
    if (before.name !== name) void queryClient.resetQueries(asked);
    else if (authenticated && !before.authenticated) void queryClient.invalidateQueries(asked);
  }, [authenticated, name, queryClient]);
  return { SignInAgain: authenticated ? null : Part };
}

function isAskedByPerson({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean {
  return queryKey[0] !== KEYS.me[0];
}
