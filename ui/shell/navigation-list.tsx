import { Link } from "@tanstack/react-router";
import { Icon } from "../components/icon.tsx";
import { ADMIN_PAGES, MEMBER_PAGES, type NavigationItem } from "./navigation.ts";

export interface NavigationListProps {
  readonly role: string | undefined;
  readonly onNavigate?: () => void;
}

/** The pages, in two groups; a member sees the first alone. */
export function NavigationList({ role, onNavigate }: NavigationListProps) {
  return (
    <nav aria-label="Pages" className="flex flex-col gap-4 overflow-y-auto px-2 pb-4">
      <Group pages={MEMBER_PAGES} onNavigate={onNavigate} />
      {role === "admin" && <Group heading="Administration" pages={ADMIN_PAGES} onNavigate={onNavigate} />}
    </nav>
  );
}

interface GroupProps {
  readonly heading?: string;
  readonly pages: readonly NavigationItem[];
  readonly onNavigate: (() => void) | undefined;
}

function Group({ heading, pages, onNavigate }: GroupProps) {
  return (
    <div>
      {heading !== undefined && (
        <h2 className="px-2 pb-1 text-xs font-medium tracking-wide text-ink-faint">{heading}</h2>
      )}
      <ul className="flex flex-col gap-0.5">
        {pages.map((page) => (
          <li key={page.to}>
            <Link
              to={page.to}
              {...(onNavigate !== undefined && { onClick: onNavigate })}
              activeOptions={{ exact: page.to === "/", includeSearch: false }}
              className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm text-ink-soft hover:bg-raised hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-ink"
            >
              <Icon name={page.icon} />
              {page.label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
