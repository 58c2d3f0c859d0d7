import { Link, useLocation } from "@tanstack/react-router";
import { buttonClass } from "../components/button.tsx";
import { EmptyState } from "../components/empty.tsx";

/** An address that no page has; the way to the others stands beside it. */
export function NotFoundPage() {
  const { pathname } = useLocation();
  return (
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
  );
}
