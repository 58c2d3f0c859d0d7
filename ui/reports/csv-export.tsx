import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { fetchCsv, type CsvPath } from "../api/csv.ts";
import type { QueryParams } from "#kernel/route-request.ts";
import { isAbort } from "../api/failure.ts";
import { Button, type ButtonSize } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Progress } from "../components/progress.tsx";
import { useToast } from "../components/toast.tsx";
import { saveFile, toCsvName, type FileWindow } from "../text/download.ts";
import { formatBytes, formatCount } from "../text/format.ts";

export interface CsvRequest {
  readonly path: CsvPath;
  /** Filters and window, as the figures beside it are asked for. */
  readonly query: QueryParams & FileWindow;
  /** What the file is about, for its name. */
  readonly subject: string;
}

export interface CsvExport {
  readonly isRunning: boolean;
  /** Rows that have come so far. */
  readonly rows: number;
  readonly failure: Error | null;
  readonly start: () => void;
  readonly cancel: () => void;
}

/** A report as a file: every row of the filters and the window, whatever part of them is shown. */
export function useCsvExport({ path, query, subject }: CsvRequest): CsvExport {
  const [rows, setRows] = useState(0);
  const running = useRef<AbortController | null>(null);
  const { notify } = useToast();
  const save = useMutation({
    mutationFn: async () => {
      const controller = new AbortController();
      running.current = controller;
      setRows(0);
      const filename = toCsvName(subject, query, Date.now());
      // The header is a line, too.
      const onLines = (lines: number) => setRows(lines - 1);
      const file = await fetchCsv(path, query, { signal: controller.signal, onLines });
      saveFile(file, filename);
      notify({ title: `Saved ${filename}`, body: formatBytes(file.size), tone: "good" });
    },
  });
  // On another page the file is no longer waited for.
  useEffect(() => () => running.current?.abort(), []);
  return {
    isRunning: save.isPending,
    rows,
    failure: save.error === null || isAbort(save.error) ? null : save.error,
    start: () => save.mutate(),
    cancel: () => running.current?.abort(),
  };
}

export interface CsvButtonProps {
  readonly state: CsvExport;
  readonly title: string;
  readonly size?: ButtonSize | undefined;
}

export function CsvButton({ state, title, size }: CsvButtonProps) {
  return (
    <Button icon="download" size={size} busy={state.isRunning} onClick={state.start} title={title}>
      CSV
    </Button>
  );
}

export interface CsvStatusProps {
  readonly state: CsvExport;
  /** Around it, where there is something to say. */
  readonly className?: string | undefined;
}

/** Why there is no file, and another try; nothing else of the time. */
export function CsvFailure({ state, className }: CsvStatusProps) {
  const { failure, start } = state;
  if (failure === null) return null;
  return (
    <div className={className}>
      <ErrorNotice failure={failure} onRetry={start} />
    </div>
  );
}

export interface CsvProgressProps extends CsvStatusProps {
  /** How many rows there are, as far as it is known. */
  readonly total: number | null;
}

/** How far a long export is, and why one ended without a file; nothing else of the time. */
export function CsvProgress({ state, total, className }: CsvProgressProps) {
  const { isRunning, rows, cancel } = state;
  if (!isRunning) return <CsvFailure state={state} className={className} />;
  return (
    <div className={classNames("flex items-end gap-3", className)}>
      <div className="min-w-0 flex-1">
        <Progress
          label="Saving as CSV"
          ratio={total === null || total === 0 ? null : rows / total}
          detail={
            total === null ? formatCount(rows) : `${formatCount(rows)} of ${formatCount(total)} requests`
          }
        />
      </div>
      <Button size="sm" onClick={cancel}>
        Cancel
      </Button>
    </div>
  );
}
