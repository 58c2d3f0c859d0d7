import type { Me } from "../api/session.ts";
import { Button, IconButton } from "../components/button.tsx";
import { OpensOnDemand } from "../components/on-demand.tsx";
import { THEME_ICONS, THEME_LABELS, useTheme } from "./theme.ts";

const loadThemeMenu = async () => (await import("./menus.tsx")).ThemeMenu;
const loadAccountMenu = async () => (await import("./menus.tsx")).AccountMenu;

/** Light, dark, or whatever the system says. */
export function BarThemeMenu() {
  const [theme] = useTheme();
  return (
    <OpensOnDemand
      load={loadThemeMenu}
      opens="menu"
      trigger={<IconButton label={`Theme: ${THEME_LABELS[theme]}`} icon={THEME_ICONS[theme]} />}
      props={{}}
    />
  );
}

/** Who is signed in, in which role, and the way out. */
export function BarAccountMenu({ me, compact = false }: { readonly me: Me; readonly compact?: boolean }) {
  const name = me.name ?? "";
  const role = me.role === "admin" ? "administrator" : "member";
  const label = `Account: ${name}, ${role}`;
  return (
    <OpensOnDemand
      load={loadAccountMenu}
      opens="menu"
      trigger={
        compact ? (
          <IconButton label={label} icon="user" />
        ) : (
          <Button variant="ghost" size="sm" icon="user" aria-label={label}>
            <span className="max-w-28 truncate">{name}</span>
          </Button>
        )
      }
      props={{ name, role }}
    />
  );
}

/** The product's name, with a lock gate between two levels of water. */
export function Wordmark() {
  return (
    <span className="flex items-center gap-2 text-sm font-semibold tracking-tight text-ink">
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" className="text-accent">
        <rect x="1" y="1" width="18" height="18" rx="4" fill="currentColor" />
        <path
          d="M4 7h5M11 13h5M10 4v12"
          stroke="var(--color-accent-ink)"
          strokeWidth="1.8"
          strokeLinecap="round"
          fill="none"
        />
      </svg>
      Lockport
    </span>
  );
}
