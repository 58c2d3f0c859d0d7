import { createElement, type ReactNode, Suspense } from "react";
import { lazyLoaded } from "../lazy-part.tsx";
import { SkeletonBody, type TableBodyProps } from "./table-body.tsx";

const ROWS_MEANWHILE = 8;

const useVirtualBody = lazyLoaded(async () => (await import("./virtual-body.tsx")).VirtualBody);

/** A `VirtualBody` for tables that are seldom so long: it is loaded when one is. */
export function LateVirtualBody<Row>(props: TableBodyProps<Row>): ReactNode {
  return (
    <Suspense fallback={<SkeletonBody columns={props.columns} rows={ROWS_MEANWHILE} />}>
      <Loaded {...props} />
    </Suspense>
  );
}

function Loaded<Row>(props: TableBodyProps<Row>): ReactNode {
  return createElement<TableBodyProps<Row>>(useVirtualBody(), props);
}
