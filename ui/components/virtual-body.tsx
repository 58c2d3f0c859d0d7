import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type Ref, useEffect, useMemo } from "react";
import { focusRow, SkeletonBody, type TableBodyProps, TableLine, useRovingRow } from "./table-body.tsx";

const ROW_HEIGHT_PX = 37;
/** The height that the sticky header covers: a row that is scrolled to the lower edge would lie that much below it. */
const HEADER_HEIGHT_PX = 36;
const OVERSCAN_ROWS = 12;

/** Only the rows in sight, between two rows that hold the place of the others. */
export function VirtualBody<Row>(props: TableBodyProps<Row>): ReactNode {
  const { entries, region, columns } = props;
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => region,
    estimateSize: () => ROW_HEIGHT_PX,
    getItemKey: (index) => entries[index]?.id ?? index,
    overscan: OVERSCAN_ROWS,
    scrollPaddingEnd: HEADER_HEIGHT_PX,
  });
  const activeIndex = entries.findIndex(({ id }) => id === props.activeRowId);
  useEffect(() => {
    if (activeIndex >= 0) virtualizer.scrollToIndex(activeIndex, { align: "auto" });
  }, [activeIndex, virtualizer]);
  const rove = useRovingRow(props, (index) => {
    virtualizer.scrollToIndex(index, { align: "auto" });
    // The row is drawn after the scroll: one frame later it can take the focus.
    requestAnimationFrame(() => requestAnimationFrame(() => focusRow(region, index)));
  });
  const lines = useLines(props, { stop: rove.stop, measure: virtualizer.measureElement });
  if (props.skeletonRows > 0) return <SkeletonBody columns={columns} rows={props.skeletonRows} />;
  const items = virtualizer.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <tbody {...rove.handlers}>
      <Spacer heightPx={above} columns={columns.length} />
      {items.map(({ index }) => lines[index])}
      <Spacer heightPx={below} columns={columns.length} />
    </tbody>
  );
}

/** Every line as an element that stays the same one, so that a scroll draws only what comes into sight. */
function useLines<Row>(
  props: TableBodyProps<Row>,
  { stop, measure }: { readonly stop: number; readonly measure: Ref<HTMLTableRowElement> },
): readonly ReactNode[] {
  const { entries, columns, onRowActivate, rowLabel, rowHref, activeRowId, freshRowIds } = props;
  return useMemo(
    () =>
      entries.map((entry, index) => (
        <TableLine
          key={entry.id}
          {...{ columns, onRowActivate, rowLabel, rowHref, activeRowId, freshRowIds, entry, index, measure }}
          isStop={index === stop}
          isNumbered
        />
      )),
    [entries, columns, onRowActivate, rowLabel, rowHref, activeRowId, freshRowIds, stop, measure],
  );
}

function Spacer({ heightPx, columns }: { readonly heightPx: number; readonly columns: number }): ReactNode {
  if (heightPx <= 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={columns} style={{ height: heightPx }} />
    </tr>
  );
}
