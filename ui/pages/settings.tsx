import { useMe } from "../api/session.ts";
import { PageHead } from "../components/page-head.tsx";
import { DisplayCard } from "./settings/display-card.tsx";
import { InstallationCards } from "./settings/installation-cards.tsx";
import { SessionsCard } from "./settings/sessions-card.tsx";

/** What this browser shows, where one is signed in, and for admins what runs here. */
export function SettingsPage() {
  const { role } = useMe();
  return (
    <>
      <PageHead title="Settings" />
      <div className="flex max-w-4xl flex-col gap-4">
        <DisplayCard />
        <SessionsCard />
        {role === "admin" && <InstallationCards />}
      </div>
    </>
  );
}
