import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import type { NamesInUse } from "#interchange/prices-in-use.ts";
import { type ListPrices, loadPricing } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { CodeBlock } from "../../../components/code.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { FileDrop } from "../../../components/file-drop.tsx";
import { Instant } from "../../../components/instant.tsx";
import { Progress } from "../../../components/progress.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { FeedReview } from "./feed-review.tsx";
import {
  type FeedDiff,
  type FeedReading,
  FeedTextError,
  type KeptPrices,
  type LoadChoices,
  planLoad,
  readFeedText,
  toFeed,
  toFeedDiff,
  toFirstVersion,
  toUsedNames,
} from "./feed.ts";
import { formatCount } from "../../../text/format.ts";

interface LoadDialogProps {
  /** Read at once, instead of a file; the difference comes first all the same. */
  readonly offered?: ListPrices | undefined;
  readonly kept: KeptPrices;
  readonly inUse: NamesInUse;
  readonly onClose: () => void;
}

/** A file is read here, shown beside the prices of now, and only then loaded. */
export function LoadDialog({ offered, kept, inUse, onClose }: LoadDialogProps) {
  const [read, setRead] = useState<{ readonly fileName: string; readonly reading: FeedReading } | null>(null);
  const [choices, setChoices] = useState<LoadChoices>(NO_CHOICES);
  const source = useFeedSource((fileName, reading) => {
    setRead({ fileName, reading });
    setChoices({
      version: toFirstVersion(reading, Date.now()),
      leavesOutBad: false,
      // A price map names every model there is, and list prices many.
      onlyUsed: reading.lookup !== null,
    });
  });
  const { read: readText } = source;
  const isOffered = useRef(false);
  useEffect(() => {
    if (offered === undefined || isOffered.current) return;
    isOffered.current = true;
    const { version, entries, source: from, as_of: asOf } = offered;
    readText(JSON.stringify({ version, entries }), `List prices of ${asOf}, from ${from}`);
  }, [offered, readText]);
  // What it is about to do, by the prices of before: a load changes those that the page shows.
  const [begun, setBegun] = useState({ kept, counts: NO_COUNTS });
  const load = useMutation(loadPricing);
  const plan = read === null ? null : planLoad(read.reading, choices, inUse);
  const isReady = plan !== null && plan.problems.length === 0 && plan.versionError === null;
  const close = () => {
    source.stop();
    onClose();
  };
  const again = () => {
    setRead(null);
    load.reset();
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && !load.isPending && close()}
      title={load.data === undefined ? (read === null ? "Load prices" : "Review changes") : "Prices loaded"}
      size="lg"
      keepOnOutsidePress={read !== null}
      footer={
        load.data !== undefined ? (
          <>
            <Button onClick={again}>Load another</Button>
            <Button variant="primary" onClick={close}>
              Done
            </Button>
          </>
        ) : plan === null ? (
          <Button onClick={close}>Cancel</Button>
        ) : (
          <>
            <Button onClick={again} disabled={load.isPending}>
              Choose another file
            </Button>
            <Button
              variant="primary"
              busy={load.isPending}
              disabled={!isReady}
              onClick={() => {
                setBegun({ kept, counts: toFeedDiff(plan.entries, kept, toUsedNames(inUse)).counts });
                load.mutate(toFeed(plan.entries, choices.version));
              }}
            >
              {plan.entries.length === 1 ? "Load 1 price" : `Load ${formatCount(plan.entries.length)} prices`}
            </Button>
          </>
        )
      }
    >
      {load.data !== undefined ? (
        <FeedResult loaded={load.data} counts={begun.counts} />
      ) : read === null || plan === null ? (
        <FeedSource refusal={source.refusal} ratio={source.ratio} onText={source.read} />
      ) : (
        <>
          <FeedReview
            {...read}
            plan={plan}
            choices={choices}
            onChoose={setChoices}
            kept={load.isPending ? begun.kept : kept}
            inUse={inUse}
            failure={load.error}
          />
          {load.isPending && (
            <div className="mt-4">
              <Progress label="Loading" ratio={null} />
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}

const NO_COUNTS: FeedDiff["counts"] = { changed: 0, added: 0, unchanged: 0 };
const NO_CHOICES: LoadChoices = { version: "", leavesOutBad: false, onlyUsed: false };

/** Reads one text at a time; a new one, or `stop`, gives up the one before. */
function useFeedSource(onRead: (fileName: string, reading: FeedReading) => void) {
  const [refusal, setRefusal] = useState<string | null>(null);
  /** Null: nothing is being read. */
  const [ratio, setRatio] = useState<number | null>(null);
  const running = useRef<AbortController>(null);
  const stop = () => running.current?.abort();
  async function read(text: string, fileName: string): Promise<void> {
    stop();
    const controller = new AbortController();
    running.current = controller;
    setRefusal(null);
    setRatio(0);
    try {
      const reading = await readFeedText(text, { onProgress: setRatio, signal: controller.signal });
      onRead(fileName, reading);
    } catch (failure) {
      if (controller.signal.aborted) return;
      if (!(failure instanceof FeedTextError)) throw failure;
      setRefusal(failure.message);
    }
    setRatio(null);
  }
  return { refusal, ratio, stop, read: (text: string, fileName: string) => void read(text, fileName) };
}

interface FeedResultProps {
  readonly loaded: { readonly version: string; readonly loaded_at: string; readonly entries: number };
  /** By the prices of before. */
  readonly counts: FeedDiff["counts"];
}

/** What the server answered to a load. */
function FeedResult({ loaded, counts }: FeedResultProps) {
  return (
    <div role="status" className="flex flex-col gap-3">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5">
        <dt className="text-ink-soft">Version</dt>
        <dd className="break-words">{loaded.version}</dd>
        <dt className="text-ink-soft">Loaded</dt>
        <dd>
          <Instant value={loaded.loaded_at} />
        </dd>
        <dt className="text-ink-soft">Prices</dt>
        <dd>
          {formatCount(loaded.entries)}: {formatCount(counts.changed)} changed, {formatCount(counts.added)}{" "}
          added, {formatCount(counts.unchanged)} as before
        </dd>
      </dl>
      <p className="text-ink-soft">
        They apply from the next request. The cost of past requests does not change.
      </p>
    </div>
  );
}

interface FeedSourceProps {
  readonly refusal: string | null;
  /** A share of one while a text is read; else null. */
  readonly ratio: number | null;
  readonly onText: (text: string, fileName: string) => void;
}

const EXAMPLE = `{"version": "2026-03", "entries": [
  {"model": "gpt-5", "unit": "input_tokens", "price_per_million": 1.25},
  {"model": "gpt-5", "unit": "cached_input_tokens", "price_per_million": 0.125},
  {"model": "gpt-5", "unit": "output_tokens", "price_per_unit": 0.00001},
  {"model": "gpt-5", "unit": "input_tokens", "price_per_million": 0.625, "when": {"tier": "flex"}}
]}`;

/** A file to drop, or a text to paste. */
function FeedSource({ refusal, ratio, onText }: FeedSourceProps) {
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
            <code className="font-mono">model_prices_and_context_window.json</code> the prices that have a
            unit here are taken, also those of service tiers and long inputs.
          </p>
          <CodeBlock code={EXAMPLE} language="A pricing feed" />
        </div>
      )}
    </div>
  );
}
