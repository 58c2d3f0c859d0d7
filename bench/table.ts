/** Figures, medians, and the Markdown tables of the benchmarks that look at several sizes. */

/** A figure at one size: its text, and the number that growth is computed from. */
export interface Cell {
  readonly text: string;
  readonly figure: number | null;
}

export interface Goal {
  readonly text: string;
  readonly isMet: boolean;
}

export interface Table {
  /** One more cell of a line; its verdict is that of the last one, which is of the largest size. */
  report(name: string, cell: Cell | string, goal?: Goal | null): void;
  /** Prints what was reported so far as Markdown, and starts anew. `columns` are the sizes, one for each cell of a line. */
  print(title: string, columns: readonly string[]): void;
}

interface Line {
  goal: string;
  verdict: string;
  readonly cells: Cell[];
}

/** Lines in the order in which they were first told, each also said at once on stderr. */
export function createTable(): Table {
  const lines = new Map<string, Line>();
  return {
    report(name, told, goal = null) {
      const cell = typeof told === "string" ? { text: told, figure: null } : told;
      const line = lines.get(name) ?? { goal: "", verdict: "", cells: [] };
      line.cells.push(cell);
      line.goal = goal?.text ?? "";
      line.verdict = goal === null ? "" : goal.isMet ? "met" : "**missed**";
      lines.set(name, line);
      console.error(`${name}: ${cell.text} ${line.verdict}`);
    },
    print(title, columns) {
      const grows = columns.length > 1;
      const heads = ["what", "goal", ...columns, ...(grows ? ["growth"] : []), "verdict"];
      console.log(`\n${title}\n`);
      printLine(heads);
      printLine(heads.map(() => "---"));
      for (const [name, { goal, cells, verdict }] of lines) {
        const texts = columns.map((_, index) => cells[index]?.text ?? "");
        printLine([name, goal, ...texts, ...(grows ? [toGrowth(cells)] : []), verdict]);
      }
      lines.clear();
    },
  };
}

export function below(figure: number, limit: number, unit: string): Goal {
  return { text: `${limit}${unit}`, isMet: figure <= limit };
}

export function toFigure(figure: number): string {
  return figure < 10 ? figure.toFixed(1) : figure.toFixed(0);
}

function printLine(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

function toGrowth(cells: readonly Cell[]): string {
  const [first, last] = [cells[0]?.figure ?? 0, cells.at(-1)?.figure ?? 0];
  return first > 0 && last > 0 ? `× ${(last / first).toFixed(1)}` : "";
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
