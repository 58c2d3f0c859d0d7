import { useLocation } from "@tanstack/react-router";
import { Card } from "../components/card.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { titleOf } from "./navigation.tsx";

/** A page whose file is on its way: its title at once, and grey where its content will be. */
export function RoutePending() {
  const { pathname } = useLocation();
  return (
    <div aria-busy>
      <PageHead title={titleOf(pathname)} />
      <Card>
        <Skeleton className="h-96 w-full" />
      </Card>
    </div>
  );
}
