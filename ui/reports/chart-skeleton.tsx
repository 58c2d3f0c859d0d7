import { Skeleton } from "../components/skeleton.tsx";

/** A legend and the plot, as high as they will be. */
export function ChartSkeleton() {
  return (
    <div aria-busy>
      <Skeleton className="mb-2 h-6 w-2/3" />
      <Skeleton className="h-[260px] w-full" />
    </div>
  );
}
