import { Segmented } from "../../components/segmented.tsx";
import { Skeleton } from "../../components/skeleton.tsx";

/** A request has one value of each tag, but several tags: only one of them at a time cuts the usage into parts. */
const KEYS_SHOWN_MAX = 12;

export interface TagKeysProps {
  readonly keys: readonly string[];
  readonly chosen: string | undefined;
  readonly onChoose: (key: string) => void;
}

/** Which tag's values are told apart; its place is kept until the tags are known. */
export function TagKeys({ keys, chosen, onChoose }: TagKeysProps) {
  const shown = keys.slice(0, KEYS_SHOWN_MAX);
  const isApart = chosen !== undefined && !shown.includes(chosen);
  const options = [...shown, ...(isApart ? [chosen] : [])].map((key) => ({ value: key, label: key }));
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 text-xs text-ink-soft">
      <span>Values of the tag</span>
      {options.length === 0 ? (
        <Skeleton className="h-8 w-40" />
      ) : (
        <Segmented label="Tag" options={options} value={chosen ?? ""} onValueChange={onChoose} />
      )}
    </div>
  );
}
