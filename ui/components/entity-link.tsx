import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode } from "react";
import { KEYS } from "../api/keys.ts";
import type { Me } from "../api/session.ts";
import type { WindowSearch } from "../search/window.ts";

export type EntityKind = "principal" | "key" | "provider" | "model" | "client" | "tag" | "limit";

export interface EntityLinkProps {
  readonly kind: EntityKind;
  /** What is read; for a provider, a model (its alias), a client and a tag (`key:value`) also what is looked for. */
  readonly name: string;
  /** A principal, a key and a limit are looked for by it. A key or a limit without it is text, and no link. */
  readonly id?: string | undefined;
  /** The time that the request log shows, where that is what the link opens; its own when absent. */
  readonly window?: WindowSearch | undefined;
  /** Instead of the name. */
  readonly children?: ReactNode;
}

/**
 * Leads from a name to the place that shows it: the panel of a model, for administrators also of a person, a provider and a
 * limit, and else its requests.
 */
export function EntityLink({ children, ...entity }: EntityLinkProps): ReactNode {
  const { name } = entity;
  // Read and not watched, since a table has hundreds of links: a change of the role draws the whole shell anew.
  const role = useQueryClient().getQueryData<Me>(KEYS.me)?.role;
  const place = toPlace(entity, role === "admin");
  if (place === null) return <span title={name}>{children ?? name}</span>;
  return (
    <Link {...place} title={name} className="rounded text-ink hover:text-accent hover:underline">
      {children ?? name}
    </Link>
  );
}

/** The page and what its address asks for; null when no page shows it. */
export function toPlace({ kind, name, id, window }: Omit<EntityLinkProps, "children">, isAdmin: boolean) {
  if (kind === "model") return { to: "/models", search: { open: name } };
  if (kind === "provider" && isAdmin) return { to: "/providers", search: { open: name } };
  if (kind === "principal" && isAdmin && id !== undefined) return { to: "/people", search: { open: id } };
  if (kind === "limit") return isAdmin && id !== undefined ? { to: "/limits", search: { open: id } } : null;
  if (kind === "key") return id === undefined ? null : { to: "/requests", search: { ...window, key: id } };
  return { to: "/requests", search: { ...window, [kind]: kind === "tag" ? [name] : name } };
}
