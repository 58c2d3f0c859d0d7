import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState, type SubmitEvent } from "react";
import { ApiFailure } from "../api/failure.ts";
import { KEYS } from "../api/keys.ts";
import { meQuery, signInWithLink, signInWithPassword } from "../api/session.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SecretField } from "../components/secret-field.tsx";
import { keepReturnPath } from "../shell/return-path.ts";
import { BarThemeMenu } from "../shell/bar-menus.tsx";
import { Wordmark } from "../shell/wordmark.tsx";

const route = getRouteApi("/sign-in");

/** Single sign-on first where there is one, the administrator's password beneath, and the way back to where one was. */
export function SignInPage() {
  const { next } = route.useSearch();
  const { loginToken } = route.useRouteContext();
  const { data: me } = useSuspenseQuery(meQuery());
  const enter = useEnter(next);
  const link = useMutation({ mutationFn: signInWithLink, onSuccess: enter });

  // Once, also where effects run twice: the token of a link is good for one sign-in.
  const exchanged = useRef(false);
  const { mutate: exchange } = link;
  useEffect(() => {
    document.title = "Sign in · Lockport";
    if (loginToken === null || exchanged.current) return;
    exchanged.current = true;
    exchange(loginToken);
  }, [loginToken, exchange]);

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
              : "Your session has ended, or has not begun yet. You will come back to where you were."}
          </p>
        </div>
        {link.isPending && <p role="status">Signing in with the link…</p>}
        {link.error !== null && <ErrorNotice failure={link.error} />}
        {me.sso_enabled && (
          <a
            href="/auth/login"
            className={buttonClass({ variant: "primary" })}
            onClick={() => next !== undefined && keepReturnPath(next)}
          >
            Continue with single sign-on
          </a>
        )}
        {me.sso_enabled && me.password_enabled && (
          <div className="flex items-center gap-3 text-xs text-ink-faint">
            <span className="h-px flex-1 bg-line" />
            or as the administrator
            <span className="h-px flex-1 bg-line" />
          </div>
        )}
        {me.password_enabled && <PasswordForm onSignedIn={enter} primary={!me.sso_enabled} />}
        {!me.sso_enabled && !me.password_enabled && (
          <p className="text-sm text-ink-soft">
            Both ways to sign in are turned off. Unset PROXY_ADMIN_PASSWORD_DISABLED or set PROXY_OIDC_ISSUER,
            and start the server again; or run <code>lockport admin login-link</code> on its machine.
          </p>
        )}
      </main>
    </div>
  );
}

interface PasswordFormProps {
  readonly onSignedIn: () => Promise<void>;
  readonly primary: boolean;
}

function PasswordForm({ onSignedIn, primary }: PasswordFormProps) {
  const [password, setPassword] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const signIn = useMutation({
    mutationFn: signInWithPassword,
    onSuccess: onSignedIn,
    onError: () => {
      setPassword("");
      field.current?.focus();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate(password);
  };
  const failure = signIn.error;
  const isWrong = failure instanceof ApiFailure && failure.code === "wrong_password";
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {/* Password managers keep a password under a name. */}
      <input
        type="text"
        aria-label="User name"
        name="username"
        value="admin"
        autoComplete="username"
        readOnly
        hidden
      />
      <SecretField
        label="Administrator password"
        hint="The server says at its start in which file it lies."
        name="password"
        autoComplete="current-password"
        inputRef={field}
        value={password}
        onValueChange={setPassword}
        required
        {...(isWrong && { error: "This is not the password (wrong_password)." })}
      />
      {failure !== null && !isWrong && <ErrorNotice failure={failure} />}
      <Button type="submit" variant={primary ? "primary" : "secondary"} busy={signIn.isPending}>
        {signIn.isPending ? "Checking…" : "Sign in"}
      </Button>
    </form>
  );
}

/** Asks anew who is signed in, forgets what the last person saw, and goes on. */
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
