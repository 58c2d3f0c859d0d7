import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { KEYS } from "../api/keys.ts";
import { meQuery, signInWithLink } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { keepReturnPath } from "../shell/return-path.ts";
import { BarThemeMenu, Wordmark } from "../shell/bar.tsx";
import { SignInWays } from "../shell/sign-in-ways.tsx";

const route = getRouteApi("/sign-in");

/** Single sign-on first where there is one, the administrator's password beneath, and the way back to where one was. */
export function SignInPage() {
  const { next } = route.useSearch();
  const { loginToken } = route.useRouteContext();
  const { data: me } = useSuspenseQuery(meQuery());
  const enter = useEnter(next);
  const link = useMutation({ mutationFn: signInWithLink, onSuccess: enter });
  // Anybody can send a link: one to another account must not take over a browser in use.
  const [inUseBy] = useState(() => (loginToken !== null && me.authenticated ? (me.name ?? null) : null));

  // Once, also where effects run twice: the token of a link is good for one sign-in.
  const exchanged = useRef(false);
  const { mutate: exchange } = link;
  useEffect(() => {
    document.title = "Sign in · Lockport";
    if (loginToken === null || inUseBy !== null || exchanged.current) return;
    exchanged.current = true;
    exchange(loginToken);
  }, [loginToken, inUseBy, exchange]);

  const alreadyIn = me.authenticated && loginToken === null;
  useEffect(() => {
    if (alreadyIn) void enter();
  }, [alreadyIn, enter]);

  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex items-center justify-between px-4 py-3">
        <Wordmark />
        <BarThemeMenu />
      </header>
      <main className="mx-auto flex w-full max-w-sm flex-1 flex-col gap-6 px-4 pt-[12vh] pb-12">
        <div>
          <h1 className="text-2xl font-semibold tracking-tight">Sign in</h1>
          <p className="mt-1 text-sm text-ink-soft">
            {next === undefined
              ? "Your keys, your usage, and the models that your team can use."
              : "Sign in to continue. You will return to the page you were on."}
          </p>
        </div>
        {link.isPending && <p role="status">Signing in with the link…</p>}
        {link.error !== null && <ErrorNotice failure={link.error} />}
        {inUseBy !== null && loginToken !== null && link.isIdle ? (
          <LinkQuestion name={inUseBy} onReplace={() => exchange(loginToken)} onKeep={() => void enter()} />
        ) : (
          <SignInWays
            me={me}
            onSignedIn={enter}
            ssoLink={{ onClick: () => next !== undefined && keepReturnPath(next) }}
          />
        )}
      </main>
    </div>
  );
}

interface LinkQuestionProps {
  /** Who is signed in. */
  readonly name: string;
  readonly onReplace: () => void;
  readonly onKeep: () => void;
}

function LinkQuestion({ name, onReplace, onKeep }: LinkQuestionProps) {
  return (
    <div className="flex flex-col gap-4">
      <p>
        You are signed in as <strong>{name}</strong>. Signing in with this link ends that session. If you did
        not ask for the link, stay signed in.
      </p>
      <Button variant="primary" onClick={onKeep}>
        Stay signed in as {name}
      </Button>
      <Button onClick={onReplace}>Sign in with the link</Button>
    </div>
  );
}

/** Refetches who is signed in, clears the cache of the previous person, and goes on. */
function useEnter(next: string | undefined): () => Promise<void> {
  const queryClient = useQueryClient();
  const router = useRouter();
  const [enter] = useState(() => async () => {
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEYS.me[0] });
    await queryClient.fetchQuery({ ...meQuery(), staleTime: 0 });
    router.update({ ...router.options, context: { queryClient, loginToken: null } });
    await router.navigate({ href: next ?? "/", replace: true });
  });
  return enter;
}
