import { Skeleton } from "../components/skeleton.tsx";

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
