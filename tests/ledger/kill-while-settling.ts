import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { NEW_YEAR_US } from "./usage.ts";

/** So many events are said before each kill; the last process ends by itself, and settles what is left. */
const KILLS_AFTER = [40, 130, 3, 260];

/** Runs a child of `settleEndlessly` again and again, and kills it in between. Returns the arrivals that were said. */
export async function killWhileSettling(
  script: string,
  folder: string,
  place: readonly string[],
): Promise<readonly number[]> {
  const arrivalsPath = join(folder, "arrivals");
  const said: number[] = [];
  const run = async (count: number, killAfter: number) => {
    writeFileSync(arrivalsPath, said.join("\n"));
    const first = String(NEW_YEAR_US + said.length * 1_000);
    const words = [process.execPath, "--no-env-file", script, arrivalsPath, first, String(count), ...place];
    const child = Bun.spawn(words, { stdout: "pipe", stderr: "inherit" });
    const decoder = new TextDecoder();
    let [rest, left] = ["", killAfter];
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      said.push(...lines.map(Number));
      left -= lines.length;
      if (left <= 0) child.kill("SIGKILL");
    }
    await child.exited;
  };
  for (const killAfter of KILLS_AFTER) await run(5_000, killAfter);
  await run(0, Number.POSITIVE_INFINITY);
  return said;
}
