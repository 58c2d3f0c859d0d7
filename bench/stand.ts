/** Runs the contenders of a benchmark in turns, in an order drawn by chance, and keeps every round. */
import { appendFileSync } from "node:fs";
import { loadavg } from "node:os";
import { createChance, shuffle, type Chance } from "./chance.ts";
import { untilRecorded, type Contender, type Running } from "./contenders.ts";
import { readCpuMs, readResidentMb } from "./executable.ts";
import type { Figure, Measured, Scene } from "./scenes.ts";
import { percentile } from "./table.ts";
import { runLoad, startUpstream, writeRequests, type Load, type Upstream } from "./wire.ts";
import { toP99Ms, toRefusal, Witness } from "./witness.ts";

const WARM_UP = { connections: 64, seconds: 1.5 };
const RESIDENT_INTERVAL_MS = 500;
const FAILED_SHARE_MAX = 0.01;
const WITNESS = "witness";

/** What one contender did in one round of a scene: a line of the file of rounds. */
interface Round {
  readonly scene: string;
  readonly round: number;
  /** Its place among the turns of its round. */
  readonly turn: number;
  readonly contender: string;
  readonly at: string;
  readonly loadAverage: number;
  /** A text says why there is none. */
  readonly measured: Measured | string;
}

/** Requests that a contender recorded, and that the upstream got through it. */
interface Recorded {
  readonly records: string | null;
  sent: number;
  recorded: number | null;
}

interface Started {
  readonly name: string;
  readonly contender: Contender;
  readonly running: Running;
  readonly requests: Map<Scene, string>;
  sent: number;
}

interface StandOptions {
  readonly contenders: readonly Contender[];
  readonly seed: number;
  /** Where each round is written as a line of JSON when it is over. */
  readonly out: string;
}

export class Stand {
  readonly #contenders: readonly Contender[];
  readonly #chance: Chance;
  readonly #out: string;
  readonly #upstream: Upstream;
  readonly #witness: Witness | null;
  readonly #scenes: Scene[] = [];
  readonly #rounds: Round[] = [];
  readonly #records = new Map<string, Recorded>();
  readonly #started = new Map<string, Started>();

  private constructor({ contenders, seed, out }: StandOptions, upstream: Upstream, witness: Witness | null) {
    this.#contenders = contenders;
    this.#chance = createChance(seed);
    this.#out = out;
    this.#upstream = upstream;
    this.#witness = witness;
  }

  static async open(options: StandOptions): Promise<Stand> {
    const upstream = await startUpstream();
    return new Stand(options, upstream, await Witness.start(upstream));
  }

  get hasWitness(): boolean {
    return this.#witness !== null;
  }

  async measure(scene: Scene): Promise<void> {
    this.#scenes.push(scene);
    const failed = new Set<string>();
    for (let round = scene.load.hold === 1 ? 0 : -1; round < scene.rounds; round += 1) {
      const contenders = this.#contendersOf(scene).filter(({ name }) => !failed.has(name));
      const turns = shuffle(this.#chance, [...contenders, ...(round < 0 ? [] : [this.#witness])]);
      for (const [turn, contender] of turns.entries()) {
        if (contender === null) continue;
        const name = contender instanceof Witness ? WITNESS : contender.name;
        const measured = await (
          contender instanceof Witness ? toWitnessed(contender) : this.#measureOne(scene, contender, round)
        ).catch((failure: unknown) => (failure instanceof Error ? failure.message : String(failure)));
        if (typeof measured === "string") failed.add(name);
        if (round < 0 && typeof measured !== "string") continue;
        const [loadAverage = 0] = loadavg();
        const at = new Date().toISOString();
        this.#keep({ scene: scene.name, round, turn, contender: name, at, loadAverage, measured });
      }
      if (scene.isFresh === true) await this.#endAll(scene.name);
    }
    await this.#endAll(scene.name);
  }

  async close(): Promise<void> {
    await this.#endAll("");
    await this.#witness?.stop();
    await this.#upstream.stop();
  }

  /** Why the figures of a scene are not to be printed; null where they are. */
  findRefusal(scene: string): string | null {
    const looks = this.#rounds.filter((of) => of.scene === scene && of.contender === WITNESS);
    return toRefusal(
      looks.flatMap(({ measured }) => (typeof measured === "string" ? [] : [toP99Ms(measured.load)])),
    );
  }

  /** A figure in each round; a text is why there is none. */
  read(scene: Scene, { read }: Figure, contender: string): readonly number[] | string {
    const of = this.#rounds.filter((one) => one.scene === scene.name && one.contender === contender);
    const values: number[] = [];
    for (const { measured, round } of of) {
      if (typeof measured === "string") return measured;
      const value = read(measured, (other) => this.#find(scene.name, round, other));
      if (value !== null && Number.isFinite(value)) values.push(value);
    }
    return values;
  }

  /** Markdown: a line a figure, a column a contender, medians and ranges; a busy scene has a sentence alone. */
  toTable(): string {
    const lines: string[] = [];
    let heads = "";
    for (const scene of this.#scenes) {
      if (this.findRefusal(scene.name) !== null) continue;
      const names = this.#contendersOf(scene).map(({ name }) => name);
      const header = toLine(["scene", "figure", ...names]);
      if (header !== heads) lines.push("", header, toLine(["---", "---", ...names.map(() => "---")]));
      heads = header;
      for (const figure of scene.figures) {
        const cells = names.map((name) => toCell(this.read(scene, figure, name), figure.digits));
        if (cells.some((cell) => cell !== "")) lines.push(toLine([scene.name, figure.name, ...cells]));
      }
    }
    lines.push("");
    for (const { name, about, rounds } of this.#scenes) {
      const refusal = this.findRefusal(name);
      lines.push(
        `- ${name}: ${about}; ${rounds} rounds${refusal === null ? "" : `. **Not printed**: ${refusal}`}`,
      );
    }
    lines.push("");
    for (const [name, { records, sent, recorded }] of this.#records) {
      const told = recorded === null ? "writes nothing down" : `${recorded} recorded (${records})`;
      lines.push(`- ${name}: the upstream saw ${sent} requests, ${told}`);
    }
    return lines.join("\n");
  }

  #contendersOf({ contenders, leavesOut = [] }: Scene): readonly Contender[] {
    return (contenders ?? this.#contenders).filter(({ name }) => !leavesOut.includes(name));
  }

  #find(scene: string, round: number, contender: string): Measured | undefined {
    const found = this.#rounds.find(
      (of) => of.scene === scene && of.round === round && of.contender === contender,
    );
    return found === undefined || typeof found.measured === "string" ? undefined : found.measured;
  }

  #keep(round: Round): void {
    this.#rounds.push(round);
    appendFileSync(this.#out, `${JSON.stringify(round)}\n`);
    const { scene, contender, measured } = round;
    const { latencyUs, delayUs } = typeof measured === "string" ? {} : measured.load;
    const told = typeof measured === "string" ? measured : `p99 ${(latencyUs ?? delayUs)?.p99} µs`;
    console.error(`${scene}, round ${round.round}, ${contender}: ${told}`);
  }

  /** A text is why it failed. */
  async #measureOne(scene: Scene, contender: Contender, round: number): Promise<Measured | string> {
    const started = await this.#startFor(scene, contender);
    const { running, requests } = started;
    const path = requests.get(scene) ?? writeRequests((running.callers ?? [running]).map(scene.toRequest));
    requests.set(scene, path);
    await this.#upstream.set(scene.answers);
    const before = await this.#upstream.seen();
    let beganMs = readCpu(running);
    let openCpuMs: number | null = null;
    let cpuMs: number | null = null;
    const residentMb: number[] = [];
    const readResident = () => running.pid !== null && residentMb.push(readResidentMb(running.pid));
    const readCost = () => {
      readResident();
      cpuMs = running.pid === null ? null : readCpu(running) - beganMs;
    };
    let timer: Timer | undefined;
    const options = round < 0 ? { ...scene.load, ...WARM_UP, rate: 0 } : scene.load;
    const load = await runLoad(path, running.port, options, async (line) => {
      if (line.startsWith('{"open"')) {
        const nowMs = readCpu(running);
        openCpuMs = running.pid === null ? null : nowMs - beganMs;
        beganMs = nowMs;
        timer = setInterval(readResident, RESIDENT_INTERVAL_MS);
      }
      if (!line.startsWith('{"measured"')) return;
      clearInterval(timer);
      readCost();
      await this.#upstream.finish();
    }).finally(() => clearInterval(timer));
    if (scene.load.hold !== 1) readCost();
    const after = await this.#upstream.seen();
    started.sent += after.requests - before.requests;
    return toFailure(load) ?? { load, cpuMs, openCpuMs, residentMb };
  }

  async #startFor(scene: Scene, contender: Contender): Promise<Started> {
    const isOwn = scene.isFresh === true || scene.contenders !== undefined;
    const mark = `${contender.name} ${isOwn ? scene.name : ""}`;
    const known = this.#started.get(mark);
    if (known !== undefined) return known;
    const running = await contender.start(`http://127.0.0.1:${this.#upstream.port}`);
    const name = scene.contenders === undefined ? contender.name : `${scene.name} ${contender.name}`;
    const started = { name, contender, running, requests: new Map<Scene, string>(), sent: 0 };
    this.#started.set(mark, started);
    return started;
  }

  /** Those of a scene alone, or all. */
  async #endAll(scene: string): Promise<void> {
    for (const [mark, started] of this.#started) {
      if (scene !== "" && !mark.endsWith(` ${scene}`)) continue;
      this.#started.delete(mark);
      await this.#end(started);
    }
  }

  async #end({ name, contender, running, sent }: Started): Promise<void> {
    if (sent > 0 && running.pid !== null) {
      const recorded = await untilRecorded(running, sent);
      const known = this.#records.get(name);
      this.#records.set(name, {
        records: contender.records,
        sent: sent + (known?.sent ?? 0),
        recorded: recorded === null ? null : recorded + (known?.recorded ?? 0),
      });
    }
    await running.stop();
  }
}

async function toWitnessed(witness: Witness): Promise<Measured> {
  return { load: await witness.look(), cpuMs: null, openCpuMs: null, residentMb: [] };
}

function readCpu({ pid }: Running): number {
  return pid === null ? 0 : readCpuMs(pid);
}

function toFailure({ failures, requests, events, firstFailure }: Load): string | null {
  if (failures > requests * FAILED_SHARE_MAX) return `${failures} failed: ${firstFailure.slice(0, 80)}`;
  return requests + events === 0 ? "no answer in time" : null;
}

function toCell(values: readonly number[] | string, digits: number): string {
  if (typeof values === "string") return values;
  const show = (value: number) => value.toFixed(digits);
  if (values.length <= 1) return values.map(show).join("");
  return `${show(percentile(values, 0.5))} (${show(Math.min(...values))} to ${show(Math.max(...values))})`;
}

function toLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
