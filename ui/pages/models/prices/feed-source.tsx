import { useState } from "react";
import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import { Button } from "../../../components/button.tsx";
import { CodeBlock } from "../../../components/code.tsx";
import { FileDrop } from "../../../components/file-drop.tsx";
import { Progress } from "../../../components/progress.tsx";
import { TextField } from "../../../components/text-field.tsx";

export interface FeedSourceProps {
  readonly refusal: string | null;
  /** A share of one while a text is read; else null. */
  readonly ratio: number | null;
  readonly onText: (text: string, fileName: string) => void;
}

const EXAMPLE = `{"version": "2026-03", "entries": [
  {"model": "gpt-5", "unit": "input_tokens", "price_per_million": 1.25},
  {"model": "gpt-5", "unit": "cached_input_tokens", "price_per_million": 0.125},
  {"model": "gpt-5", "unit": "output_tokens", "price_per_unit": 0.00001}
]}`;

/** A file to drop, or a text to paste. */
export function FeedSource({ refusal, ratio, onText }: FeedSourceProps) {
  const [pasting, setPasting] = useState(false);
  const [text, setText] = useState("");
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {pasting ? (
        <>
          <TextField
            label="A feed or a price map"
            multiline
            rows={10}
            mono
            autoFocus
            placeholder={EXAMPLE}
            value={text}
            onValueChange={setText}
            error={refusal}
          />
          <div className="flex flex-wrap gap-2">
            <Button
              variant="primary"
              disabled={text.trim() === ""}
              onClick={() => onText(text, "pasted text")}
            >
              Review changes
            </Button>
            <Button variant="ghost" onClick={() => setPasting(false)}>
              Drop a file instead
            </Button>
          </div>
        </>
      ) : (
        <>
          <FileDrop
            label="Pricing feed, or LiteLLM’s price map"
            accept=".json,application/json"
            sizeBytesMax={FEED_BODY_BYTES_MAX}
            onText={onText}
            error={refusal}
            hint="You review the changes before anything is loaded."
          />
          <div className="flex flex-wrap gap-2">
            <Button variant="ghost" icon="copy" onClick={() => setPasting(true)}>
              Paste instead
            </Button>
          </div>
        </>
      )}
      {ratio !== null && <Progress label="Reading" ratio={ratio} />}
      {!pasting && (
        <div className="min-w-0">
          <p className="mb-2 text-xs text-ink-soft">
            A feed sets the prices it names and leaves all others alone. Of{" "}
            <code className="font-mono">model_prices_and_context_window.json</code> the prices per token are
            taken: input, output, cached input and cache writes.
          </p>
          <CodeBlock code={EXAMPLE} language="A pricing feed" />
        </div>
      )}
    </div>
  );
}
