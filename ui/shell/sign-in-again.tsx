import { useQuery } from "@tanstack/react-query";
import { type Me, meQuery } from "../api/session.ts";
import { TopDialog } from "../components/top-dialog.tsx";
import { SignInWays } from "./sign-in-ways.tsx";

/** Another tab, or another window beside this one, may be where somebody signs in. */
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
