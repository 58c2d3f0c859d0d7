import { useEffect, type KeyboardEvent, type RefObject, type SubmitEvent } from "react";
import { Button } from "../../components/button.tsx";
import { Kbd } from "../../components/code.tsx";
import { TextField } from "../../components/text-field.tsx";

export interface ComposerProps {
  readonly text: string;
  readonly onTextChange: (text: string) => void;
  readonly running: boolean;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly areaRef: RefObject<HTMLTextAreaElement | null>;
}

/** Where one writes. Ctrl or Cmd with Enter sends, Esc stops what is coming. */
export function Composer({ text, onTextChange, running, onSend, onStop, areaRef: area }: ComposerProps) {
  useEffect(() => {
    // The stop button had it, and is gone.
    if (!running && document.activeElement === document.body) area.current?.focus({ preventScroll: true });
  }, [running, area]);
  const send = () => {
    if (!running && text.trim() !== "") onSend();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    send();
    area.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && running) {
      event.preventDefault();
      onStop();
    }
  };
  return (
    <form onSubmit={submit} className="flex min-w-0 flex-col gap-2">
      <TextField
        label="Message"
        labelHidden
        multiline
        rows={4}
        placeholder="Write a message"
        areaRef={area}
        value={text}
        onValueChange={onTextChange}
        onKeyDown={onKeyDown}
      />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="flex flex-wrap items-center gap-1 text-xs text-ink-faint">
          <Kbd>Ctrl</Kbd> or <Kbd>⌘</Kbd> with <Kbd>Enter</Kbd> sends, <Kbd>Esc</Kbd> stops
        </p>
        <div className="ml-auto flex items-center gap-2">
          {running && (
            <Button icon="close" onClick={onStop}>
              Stop
            </Button>
          )}
          <Button type="submit" variant="primary" busy={running}>
            Send
          </Button>
        </div>
      </div>
    </form>
  );
}
