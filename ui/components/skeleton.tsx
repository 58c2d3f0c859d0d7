import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

export interface SkeletonProps {
  /** Classes that give the final size, such as `h-5 w-24`: what comes must not move anything. */
  readonly className?: string | undefined;
}

/** A grey shape where something is about to be. Decoration: the region around it is `aria-busy`. */
export function Skeleton({ className = "h-4 w-full" }: SkeletonProps): ReactNode {
  return <span aria-hidden className={classNames("skeleton block rounded-control", className)} />;
}

/** Lines of text that are about to be; the last one is short. */
export function SkeletonText({ lines }: { readonly lines: number }): ReactNode {
  return (
    <span aria-hidden className="flex flex-col gap-2 py-0.5">
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} className={line === lines - 1 ? "h-4 w-3/5" : "h-4 w-full"} />
      ))}
    </span>
  );
}

/** A legend and the plot, as high as they will be. */
export function ChartSkeleton() {
  return (
    <div aria-busy>
      <Skeleton className="mb-2 h-6 w-2/3" />
      <Skeleton className="h-[260px] w-full" />
    </div>
  );
}

/** Lines as high as those of the table that is about to be. */
export function TableSkeleton({ rows }: { readonly rows: number }) {
  return (
    <div aria-hidden="true" aria-busy>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex h-[37px] items-center gap-6 border-b border-line px-3 last:border-0">
          <Skeleton className="h-4 w-40" />
          <Skeleton className="ml-auto h-4 w-1/3" />
        </div>
      ))}
    </div>
  );
}
