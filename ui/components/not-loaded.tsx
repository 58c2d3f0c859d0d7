import { type ReactNode } from "react";
import { EmptyState } from "./empty.tsx";

/** In the place of rows that could not be asked for: an empty list would say that there are none. */
export function NotLoaded(): ReactNode {
  return <EmptyState icon="warning" title="Could not be loaded" body="The error above says why" />;
}
