import { Link } from "@tanstack/react-router";
import { useMe } from "../../api/session.ts";
import { buttonClass } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { SetupLink } from "../../setup/setup-link.tsx";

/** Nothing here can chat, and who can change that. */
export function NoModels() {
  const isAdmin = useMe().role === "admin";
  return (
    <Card>
      <EmptyState
        icon="models"
        title="No model can chat yet"
        body={
          isAdmin
            ? "Add a provider, then add one of its models with the capability Chat."
            : "Ask an administrator to add one."
        }
        action={
          isAdmin ? (
            <Link to="/providers" className={buttonClass({ variant: "primary" })}>
              Go to providers
            </Link>
          ) : (
            <SetupLink />
          )
        }
      />
    </Card>
  );
}
