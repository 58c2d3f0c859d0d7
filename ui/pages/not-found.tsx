import { Link, useLocation } from "@tanstack/react-router";
import { buttonClass } from "../components/button.tsx";
import { EmptyState } from "../components/empty.tsx";

/** An address that no page has. */
export function NotFoundPage() {
  const { pathname } = useLocation();
  return (
    <main className="mx-auto max-w-2xl p-6">
      <EmptyState
        isPage
        title="There is no such page"
        body={`Nothing is shown at ${pathname}. It may have been renamed, or the address is incomplete.`}
        action={
          <Link to="/" className={buttonClass({ variant: "primary" })}>
            Go to the overview
          </Link>
        }
      />
    </main>
  );
}
