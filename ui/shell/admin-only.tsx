import { Link, Outlet } from "@tanstack/react-router";
import { useMe } from "../api/session.ts";
import { EmptyState } from "../components/empty.tsx";
import { buttonClass } from "../components/button.tsx";

/** A member who opens the address of an administrator's page reads why it stays shut. */
export function AdminOnly() {
  const me = useMe();
  if (me.role === "admin") return <Outlet />;
  return (
    <EmptyState
      isPage
      title="This page is for administrators"
      body="You are signed in as a member. Ask an administrator to make the change, or to give you the role."
      action={
        <Link to="/" className={buttonClass({ variant: "secondary" })}>
          Go to overview
        </Link>
      }
    />
  );
}
