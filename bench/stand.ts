/** Runs the contenders of a benchmark in turns, and keeps what was read. */
import type { Contender, Running } from "./contenders.ts";
import { readCpuMs, readResidentMb } from "./executable.ts";
import type { Measured, Scene } from "./scenes.ts";
import { percentile } from "./table.ts";
import { runLoad, startUpstream, writeRequests, type Load, type Upstream } from "./wire.ts";

const WARM_UP_SECONDS = 1.5;
/** A contender's own way of writing down may collect rows for some seconds. */
const RECORDED_DEADLINE_MS = 12_000;
const FAILED_SHARE_MAX = 0.01;

interface Script {
  readonly scene: string;
  readonly about: string;
  readonly figure: string;
  readonly contender: string;
  readonly digits: number;
  /** A value for each round; a text says why there is none. */
  readonly values: (number | string)[];
}

/** Requests that a contender recorded, and that the upstream got through it. */
interface Record {
  readonly contender: string;
  readonly records: string | null;
  readonly sent: number;
  readonly recorded: number | null;
}

interface Started {
  readonly contender: Contender;
  readonly running: Running;
  sent: number;
}

export class Stand {
  readonly #readings: Script[] = [];
  readonly #records: Record[] = [];
  readonly #contenders: readonly Contender[];
  readonly #upstream: Upstream;
  readonly #started = new Map<string, Started>();

  private constructor(contenders: readonly Contender[], upstream: Upstream) {
    this.#contenders = contenders;
    this.#upstream = upstream;
  }

  static async open(contenders: readonly Contender[]): Promise<Stand> {
    return new Stand(contenders, await startUpstream());
  }

  async measure(scene: Scene): Promise<void> {
    const out = new Set<Contender>();
    for (let round = scene.load.hold === 1 ? 0 : -1; round < scene.rounds; round += 1) {
      const seen = new Map<string, Measured>();
      for (const contender of this.#contenders) {
        if (out.has(contender)) continue;
        const measured = await this.#measureOne(scene, contender, round).catch((failure: unknown) =>
          failure instanceof Error ? failure.message : String(failure),
        );
        if (typeof measured === "string") {
          out.add(contender);
          for (const { name, digits } of scene.figures) this.#read(scene, name, contender, digits, measured);
        } else if (measured !== null) seen.set(contender.name, measured);
      }
      if (round < 0) continue;
      for (const contender of this.#contenders) {
        const measured = seen.get(contender.name);
        if (measured === undefined) continue;
        for (const { name, digits, read } of scene.figures) {
          const value = read(measured, (other) => seen.get(other));
          if (value !== null && Number.isFinite(value)) this.#read(scene, name, contender, digits, value);
        }
      }
    }
    if (scene.isFresh === true) await this.#endAll(scene.name);
  }

  async close(): Promise<void> {
    await this.#endAll("");
    await this.#upstream.stop();
  }

  /** Null where the contender has no part in the scene; a text is why it failed. */
  async #measureOne(scene: Scene, contender: Contender, round: number): Promise<Measured | string | null> {
    const started = await this.#startFor(scene, contender);
    const { running } = started;
    const request = scene.toRequest(running);
    if (request === null) return null;
    await this.#upstream.set(scene.answers);
    const before = await this.#upstream.seen();
    const requests = writeRequests([request]);
    const cpuBeforeMs = running.pid === null ? 0 : readCpuMs(running.pid);
    let residentMb: number | null = null;
    let cpuMs: number | null = null;
    const readCost = () => {
      if (running.pid === null) return;
      cpuMs = readCpuMs(running.pid) - cpuBeforeMs;
      residentMb = readResidentMb(running.pid);
    };
    const options = round < 0 ? { ...scene.load, seconds: WARM_UP_SECONDS } : scene.load;
    const load = await runLoad(requests, running.port, options, async (line) => {
      if (!line.startsWith('{"measured"')) return;
      readCost();
      await this.#upstream.finish();
    });
    if (scene.load.hold !== 1) readCost();
    const after = await this.#upstream.seen();
    started.sent += after.requests - before.requests;
    return toFailure(load) ?? { load, cpuMs, residentMb };
  }

  async #startFor(scene: Scene, contender: Contender): Promise<Started> {
    const mark = [contender.name, scene.isFresh === true ? scene.name : ""].join(" ");
    const started = this.#started.get(mark) ?? (await this.#start(contender));
    this.#started.set(mark, started);
    return started;
  }

  async #start(contender: Contender): Promise<Started> {
    return { contender, running: await contender.start(`http://127.0.0.1:${this.#upstream.port}`), sent: 0 };
  }

  async #endAll(sceneName: string): Promise<void> {
    for (const [mark, started] of this.#started) {
      if (!mark.endsWith(` ${sceneName}`) && sceneName !== "") continue;
      this.#started.delete(mark);
      await this.#end(started);
    }
  }

  async #end({ contender, running, sent }: Started): Promise<void> {
    if (sent > 0 && running.pid !== null) {
      const recorded = await untilRecorded(running, sent);
      this.#records.push({ contender: contender.name, records: contender.records, sent, recorded });
    }
    await running.stop();
  }

  #read(scene: Scene, figure: string, contender: Contender, digits: number, value: number | string): void {
    const told = typeof value === "string" ? value : value.toFixed(digits);
    console.error(`${scene.name}, ${contender.name}, ${figure}: ${told}`);
    const known = this.#readings.find(
      (it) => it.scene === scene.name && it.figure === figure && it.contender === contender.name,
    );
    if (known !== undefined) known.values.push(value);
    else {
      const { name, about } = scene;
      this.#readings.push({ scene: name, about, figure, contender: contender.name, digits, values: [value] });
    }
  }

  /** Markdown: a line a figure, a column a contender, medians and ranges. */
  toTable(): string {
    const names = this.#contenders.map(({ name }) => name);
    const lines = [toLine(["scene", "figure", ...names]), toLine(["---", "---", ...names.map(() => "---")])];
    for (const { scene, figure } of this.#readings) {
      const of = this.#readings.filter((it) => it.scene === scene && it.figure === figure);
      const cells = names.map((name) => toCell(of.find(({ contender }) => contender === name)));
      const line = toLine([scene, figure, ...cells]);
      if (!lines.includes(line)) lines.push(line);
    }
    lines.push("", ...new Set(this.#readings.map(({ scene, about }) => `- ${scene}: ${about}`)), "");
    for (const { contender, records, sent, recorded } of this.#records) {
      const told = recorded === null ? "writes nothing down" : `${recorded} recorded (${records})`;
      lines.push(`- ${contender}: the upstream saw ${sent} requests, ${told}`);
    }
    return lines.join("\n");
  }
}

async function untilRecorded(running: Running, sent: number): Promise<number | null> {
  const deadline = performance.now() + RECORDED_DEADLINE_MS;
  for (;;) {
    const recorded = await running.countRecorded();
    if (recorded === null || recorded >= sent || performance.now() > deadline) return recorded;
    await Bun.sleep(250);
  }
}

function toFailure({ failures, requests, hangups, events, firstFailure }: Load): string | null {
  if (failures > (requests + hangups) * FAILED_SHARE_MAX)
    return `${failures} failed: ${firstFailure.slice(0, 80)}`;
  return requests + hangups + events === 0 ? "no answer in time" : null;
}

function toCell(reading: Script | undefined): string {
  if (reading === undefined) return "";
  const failed = reading.values.find((value) => typeof value === "string");
  if (failed !== undefined) return failed;
  const values = reading.values.filter((value) => typeof value === "number");
  const show = (value: number) => value.toFixed(reading.digits);
  if (values.length === 1) return show(values[0] ?? 0);
  return `${show(percentile(values, 0.5))} (${show(Math.min(...values))} to ${show(Math.max(...values))})`;
}

function toLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
