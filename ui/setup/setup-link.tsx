import { Link } from "@tanstack/react-router";
import { buttonClass } from "../components/button.tsx";

/** From where there is nothing yet to the list of what comes first, and who does it. */
export function SetupLink() {
  return (
    <Link to="/" className={buttonClass()}>
      Continue the setup
    </Link>
  );
}
