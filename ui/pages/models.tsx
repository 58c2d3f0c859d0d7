import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { useMe } from "../api/session.ts";
import type { ModelsSearch } from "../search/pages.ts";
import { AdminModels } from "./models/admin-models.tsx";
import { MemberModels } from "./models/member-models.tsx";

const route = getRouteApi("/shell/models");

/** The models that can be called, what each does and costs; administrators change them here. */
export function ModelsPage() {
  const { role } = useMe();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (patch: ModelsSearch, { replace = false } = {}) =>
      void navigate({ search: (current) => ({ ...current, ...patch }), replace, resetScroll: false }),
    [navigate],
  );
  const Models = role === "admin" ? AdminModels : MemberModels;
  return <Models search={search} onChange={change} />;
}
