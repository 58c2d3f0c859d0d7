import { useState } from "react";
import { Button } from "../../components/button.tsx";
import { CheckboxField } from "../../components/choice-field.tsx";
import type { OpenedProps } from "../../components/on-demand.tsx";
import { Popover } from "../../components/popover.tsx";
import { ALL_COLUMNS, chooseColumns, useChosenColumns } from "./columns.tsx";

export interface ColumnPopoverProps extends OpenedProps {
  /** The ids of those that are shown. */
  readonly shown: readonly string[];
}

/** Which columns the log has; this browser remembers them. */
export function ColumnPopover({ trigger, shown }: ColumnPopoverProps) {
  const [open, setOpen] = useState(true);
  const isChosen = useChosenColumns() !== null;
  const [first, ...others] = ALL_COLUMNS;
  return (
    <Popover title="Columns" open={open} onOpenChange={setOpen} trigger={trigger} align="end">
      <div className="flex w-56 flex-col gap-1.5">
        {others.map(({ id, header, headerTitle }) => (
          <CheckboxField
            key={id}
            label={headerTitle ?? header}
            checked={shown.includes(id)}
            onCheckedChange={(isOn) =>
              chooseColumns(
                ALL_COLUMNS.map((column) => column.id).filter((other) =>
                  other === id ? isOn : other === first?.id || shown.includes(other),
                ),
              )
            }
          />
        ))}
        <Button
          size="sm"
          variant="ghost"
          className="mt-1 self-start"
          aria-disabled={!isChosen}
          onClick={() => chooseColumns(null)}
        >
          As many as fit
        </Button>
      </div>
    </Popover>
  );
}
