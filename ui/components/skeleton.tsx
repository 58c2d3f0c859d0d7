import { type ReactNode } from "react";
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
