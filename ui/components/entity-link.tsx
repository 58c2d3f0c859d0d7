import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { KEYS } from "../api/keys.ts";
import type { Me } from "../api/session.ts";

/** What has a name: a provider and a model (its alias) are looked for by it, a principal and a key by their id. */
export type Entity =
  | { readonly kind: "provider" | "model"; readonly name: string }
  | { readonly kind: "principal" | "key"; readonly name: string; readonly id: string };

/** Leads from a name to the place that shows it. */
export function EntityLink(entity: Entity): ReactNode {
  const { name } = entity;
  // Read and not watched, since a table has hundreds of links: a change of the role draws the whole shell anew.
  const role = useQueryClient().getQueryData<Me>(KEYS.me)?.role;
  return (
    <Link
      {...toPlace(entity, role === "admin")}
      title={name}
      className="rounded text-ink hover:text-accent hover:underline"
    >
      {name}
    </Link>
  );
}

/** The panel of a model, for administrators also of a person and a provider, and else its requests. */
export function toPlace(entity: Entity, isAdmin: boolean) {
  const { kind, name } = entity;
  if (kind === "model") return { to: "/models", search: { open: name } };
  if (entity.kind === "key") return { to: "/requests", search: { key: entity.id } };
  if (!isAdmin) return { to: "/requests", search: { [kind]: name } };
  if (entity.kind === "principal") return { to: "/people", search: { open: entity.id } };
  return { to: "/providers", search: { open: name } };
}
