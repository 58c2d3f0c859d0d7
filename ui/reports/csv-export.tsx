import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { fetchCsv, type CsvPath } from "../api/csv.ts";
import type { QueryParams } from "#kernel/route-request.ts";
import { isAbort } from "../api/failure.ts";
import { Button, type ButtonLook } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Progress } from "../components/progress.tsx";
import { useToast } from "../components/toast.tsx";
import { type FileWindow, saveFile, toCsvName } from "../text/download.ts";
import { formatBytes, formatCount, formatCounted } from "../text/format.ts";

export interface CsvRequest {
  readonly path: CsvPath;
  /** Filters and window, as the figures beside it are asked for. */
  readonly query: QueryParams & FileWindow;
  /** The subject of the file, from which its name is made with the window; or the whole name. */
  readonly subject?: string;
  readonly filename?: string;
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
export function useCsvExport({
  path,
  query,
  subject = "report",
  filename: wholeName,
}: CsvRequest): CsvExport {
  const [rows, setRows] = useState(0);
  const running = useRef<AbortController | null>(null);
  const { notify } = useToast();
  const save = useMutation({
    mutationFn: async () => {
      const controller = new AbortController();
      running.current = controller;
      setRows(0);
      const filename = wholeName ?? toCsvName(subject, query, Date.now());
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

interface CsvButtonProps extends Pick<ButtonLook, "size"> {
  readonly state: CsvExport;
  readonly title: string;
  /** The visible name, where there are several files. */
  readonly label?: string;
}

export function CsvButton({ state, title, size, label = "CSV" }: CsvButtonProps) {
  return (
    <Button icon="download" size={size} busy={state.isRunning} onClick={state.start} title={title}>
      {label}
    </Button>
  );
}

interface CsvStatusProps {
  readonly state: CsvExport;
  /** The number of rows, null while it is not known; a small file goes without a bar. */
  readonly total?: number | null;
  /** Around it, where there is something to say. */
  readonly className: string;
}

/** How far a long export is, and why one ended without a file, with another try; nothing else of the time. */
export function CsvStatus({ state, total, className }: CsvStatusProps) {
  const { isRunning, rows, failure, start, cancel } = state;
  if (failure !== null) {
    return (
      <div className={className}>
        <ErrorNotice failure={failure} onRetry={start} />
      </div>
    );
  }
  if (!isRunning || total === undefined) return null;
  return (
    <div className={classNames("flex items-end gap-3", className)}>
      <div className="min-w-0 flex-1">
        <Progress
          label="Saving as CSV"
          ratio={total === null || total === 0 ? null : rows / total}
          detail={
            total === null ? formatCount(rows) : `${formatCount(rows)} of ${formatCounted(total, "request")}`
          }
        />
      </div>
      <Button size="sm" onClick={cancel}>
        Cancel
      </Button>
    </div>
  );
}
