/** Gathers what comes and hands it on once a frame. */
export interface FrameBatch<Item> {
  readonly add: (item: Item) => void;
  /** What is gathered goes on at once; in a tab that nobody sees there are no frames. */
  readonly flush: () => void;
}

export function createFrameBatch<Item>(onItems: (items: readonly Item[]) => void): FrameBatch<Item> {
  let gathered: Item[] = [];
  let frame: number | null = null;
  const flush = () => {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    if (gathered.length === 0) return;
    const items = gathered;
    gathered = [];
    onItems(items);
  };
  return {
    add(item) {
      gathered.push(item);
      frame ??= requestAnimationFrame(flush);
    },
    flush,
  };
}
