import { Menu } from "../components/menu.tsx";
import type { OpenedProps } from "../components/on-demand.tsx";

export interface AccountMenuProps extends OpenedProps {
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
