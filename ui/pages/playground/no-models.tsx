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
        title="There is no model that can chat yet"
        body={
          isAdmin
            ? "Add a provider, let it say which models it has, and bind one with the capability chat."
            : "Ask an administrator of this installation to bind one."
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
