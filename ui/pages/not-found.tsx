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
        title="Page not found"
        body={`There is no page at ${pathname}. Check the address.`}
        action={
          <Link to="/" className={buttonClass({ variant: "primary" })}>
            Go to overview
          </Link>
        }
      />
    </main>
  );
}
