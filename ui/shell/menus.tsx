import { Menu } from "../components/menu.tsx";
import type { OpenedProps } from "../components/on-demand.tsx";
import { THEME_ICONS, THEME_LABELS, THEMES, useTheme } from "./theme.ts";

interface AccountMenuProps extends OpenedProps {
  readonly name: string;
  readonly role: string;
}

export function AccountMenu({ name, role, ...opened }: AccountMenuProps) {
  return (
    <Menu
      {...opened}
      items={[
        { kind: "note", label: `${name} · ${role}` },
        {
          label: "Sign out",
          icon: "sign-out",
          // A page of its own: the server deletes the session and leads to the first page.
          onSelect: () => globalThis.location.assign("/auth/logout"),
        },
      ]}
    />
  );
}

export function ThemeMenu(opened: OpenedProps) {
  const [theme, setTheme] = useTheme();
  return (
    <Menu
      {...opened}
      items={[
        {
          kind: "choice",
          label: "Theme",
          value: theme,
          options: THEMES.map((choice) => ({
            value: choice,
            label: THEME_LABELS[choice],
            icon: THEME_ICONS[choice],
          })),
          onValueChange: (value) => setTheme(THEMES.find((choice) => choice === value) ?? "system"),
        },
      ]}
    />
  );
}
