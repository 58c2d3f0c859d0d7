import { useMutation } from "@tanstack/react-query";
import { type ComponentProps, useRef, useState, type SubmitEvent } from "react";
import { ApiFailure } from "../api/failure.ts";
import { type Me, signInWithPassword } from "../api/session.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SecretField } from "../components/text-field.tsx";

export interface SignInWaysProps {
  readonly me: Me;
  readonly onSignedIn: () => Promise<void>;
  /** Attributes of the link to the identity provider besides its address. */
  readonly ssoLink: Omit<ComponentProps<"a">, "href" | "className" | "children">;
}

/** Single sign-on first where there is one, and the administrator's password beneath. */
export function SignInWays({ me, onSignedIn, ssoLink }: SignInWaysProps) {
  return (
    <>
      {me.sso_enabled && (
        <a {...ssoLink} href="/auth/login" className={buttonClass({ variant: "primary" })}>
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
      {me.password_enabled && <PasswordForm onSignedIn={onSignedIn} primary={!me.sso_enabled} />}
      {!me.sso_enabled && !me.password_enabled && (
        <p className="text-sm text-ink-soft">
          Both ways to sign in are turned off. Unset PROXY_ADMIN_PASSWORD_DISABLED or set PROXY_OIDC_ISSUER
          and restart the server, or run <code>lockport admin login-link</code> on its machine.
        </p>
      )}
    </>
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
    onError: (failure) => {
      // One that was not judged, since the server did not answer, is tried again as it is.
      if (isWrong(failure)) setPassword("");
      field.current?.focus();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate(password);
  };
  const failure = signIn.error;
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
        hint="The server prints the path of its file when it starts."
        name="password"
        autoComplete="current-password"
        inputRef={field}
        value={password}
        onValueChange={setPassword}
        required
        {...(isWrong(failure) && { error: "Wrong password (wrong_password)" })}
      />
      {failure !== null && !isWrong(failure) && <ErrorNotice failure={failure} />}
      <Button type="submit" variant={primary ? "primary" : "secondary"} busy={signIn.isPending}>
        {signIn.isPending ? "Checking…" : "Sign in"}
      </Button>
    </form>
  );
}

function isWrong(failure: Error | null): boolean {
  return failure instanceof ApiFailure && failure.code === "wrong_password";
}
