import { Button } from "../../components/button.tsx";
import { OpensOnDemand } from "../../components/on-demand.tsx";

const loadPopover = async () => (await import("./column-popover.tsx")).ColumnPopover;

/** Opens the choice of columns; nothing where a telephone shows one alone. */
export function ColumnButton({ shown }: { readonly shown: readonly string[] }) {
  return (
    <OpensOnDemand
      load={loadPopover}
      opens="dialog"
      trigger={
        <Button size="sm" variant="ghost" iconEnd="chevron-down">
          Columns
        </Button>
      }
      props={{ shown }}
    />
  );
}
