import type { Me } from "../api/session.ts";
import { Button, IconButton } from "../components/button.tsx";
import { OpensOnDemand } from "../components/on-demand.tsx";
import { THEME_ICONS, THEME_LABELS, useTheme } from "./theme.ts";

const loadThemeMenu = async () => (await import("./theme-menu.tsx")).ThemeMenu;
const loadAccountMenu = async () => (await import("./account-menu.tsx")).AccountMenu;

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
