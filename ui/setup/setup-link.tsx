import { Link } from "@tanstack/react-router";
import { useMe } from "../api/session.ts";
import { buttonClass } from "../components/button.tsx";

/** From where there is nothing yet to what comes first: for a member the list that says who does it. */
export function SetupLink() {
  return (
    <Link to={useMe().role === "admin" ? "/setup" : "/"} className={buttonClass()}>
      Continue the setup
    </Link>
  );
}
