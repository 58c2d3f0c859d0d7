import { type ReactNode, useState } from "react";
import { formatBytes } from "../text/format.ts";
import { classNames } from "./class-names.ts";
import { FieldNotes, type FieldLook, hasError, useFieldIds } from "./field-frame.tsx";
import { Icon } from "./icon.tsx";

export interface FileDropProps extends FieldLook {
  /** As the `accept` of a file input: `.json,application/json`. */
  readonly accept: string;
  readonly onText: (text: string, fileName: string) => void;
  readonly sizeBytesMax: number;
  /** Several may be dropped or chosen at once, each of which is told. */
  readonly isMultiple?: boolean | undefined;
}

/** A place to drop one text file, or several, or to choose it; a larger one is refused before it is read. */
export function FileDrop(props: FileDropProps): ReactNode {
  const { label, accept, onText, sizeBytesMax, isMultiple = false, disabled = false } = props;
  const [isOver, setOver] = useState(false);
  const [fileName, setFileName] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const error = refusal ?? props.error;
  const ids = useFieldIds({ hint: props.hint, error });

  async function read(file: File | undefined): Promise<void> {
    if (file === undefined || disabled) return;
    setFileName(file.name);
    if (file.size > sizeBytesMax) {
      setRefusal(
        `${file.name} is ${formatBytes(file.size)}. Choose a file of at most ${formatBytes(sizeBytesMax)}.`,
      );
      return;
    }
    try {
      const text = await file.text();
      setRefusal(null);
      onText(text, file.name);
    } catch {
      setRefusal(`${file.name} could not be read. Choose it again.`);
    }
  }

  return (
    <div className={classNames("flex min-w-0 flex-col gap-1.5", props.className)}>
      <div
        className={classNames(
          "relative flex flex-col items-center gap-1 rounded-card border border-dashed px-4 py-6 text-center has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus has-disabled:text-ink-faint",
          isOver ? "border-accent bg-accent-soft" : "border-line-strong bg-sunken hover:bg-hover",
        )}
      >
        <Icon name="upload" className="mb-1 text-ink-faint" />
        <label id={ids.label} htmlFor={ids.control} className="font-medium">
          {label}
        </label>
        <span className="text-xs text-ink-soft">
          {(isMultiple ? null : fileName) ??
            `Drop ${isMultiple ? "files" : "a file"} here or choose ${isMultiple ? "some" : "one"}, at most ${formatBytes(sizeBytesMax)}`}
        </span>
        {/* It lies over all of it, unseen: a browser's own file field takes presses, keys and drops. */}
        <input
          id={ids.control}
          type="file"
          accept={accept}
          multiple={isMultiple}
          disabled={disabled}
          required={props.required}
          aria-labelledby={ids.label}
          aria-invalid={hasError(error) || undefined}
          aria-describedby={ids.describedBy}
          onDragEnter={() => setOver(true)}
          onDragLeave={() => setOver(false)}
          onDrop={() => setOver(false)}
          onChange={(event) => {
            for (const file of event.target.files ?? []) void read(file);
            // The same file, corrected and chosen again, must count as a change.
            event.target.value = "";
          }}
          className="absolute inset-0 cursor-pointer opacity-0 disabled:cursor-not-allowed"
        />
      </div>
      <FieldNotes ids={ids} hint={props.hint} error={error} />
    </div>
  );
}
