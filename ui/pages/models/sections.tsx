import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMe } from "../../api/session.ts";
import { TAB_CLASS } from "../../components/tabs.tsx";

const SECTIONS = [
  { to: "/models", label: "Models" },
  { to: "/models/prices", label: "Prices" },
  { to: "/models/repricing", label: "Re-pricing" },
  { to: "/models/what-if", label: "What if" },
] as const;

/** Leads from the models to their prices and back; members have the models alone. */
export function ModelSections(): ReactNode {
  const { role } = useMe();
  return (
    role === "admin" && (
      <nav
        aria-label="Sections"
        className="mb-5 flex gap-1 overflow-x-auto border-b border-line px-0.5 pt-0.5"
      >
        {SECTIONS.map(({ to, label }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: true, includeSearch: false }}
            activeProps={{ "data-active": "" }}
            className={TAB_CLASS}
          >
            {label}
          </Link>
        ))}
      </nav>
    )
  );
}
