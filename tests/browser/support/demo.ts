import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillDemo, type Filled, type FillOptions } from "../../../contrib/demo/fill.ts";
import { runFolder } from "../../support/run-folder.ts";

const FILLED = "filled.json";
/** What this process fills, by its folder. */
const fillings = new Map<string, Promise<void>>();

/** Puts a demonstration into a new data folder: filled once in a run for the same options, and copied from then on. */
export async function copyDemo(options: FillOptions, dataDir: string): Promise<Filled> {
  const name = Bun.hash(JSON.stringify(options)).toString(36);
  const source = join(runFolder(), `demo-${name}`);
  if (!existsSync(source)) {
    const filling = fillings.get(source) ?? fillOnce(options, source).finally(() => fillings.delete(source));
    fillings.set(source, filling);
    await filling;
  }
  const filled: Filled = JSON.parse(readFileSync(join(source, FILLED), "utf8"));
  cpSync(join(source, "data"), dataDir, { recursive: true });
  return { ...filled, dataDir, adminPasswordPath: filled.adminPasswordPath.replace(filled.dataDir, dataDir) };
}

/** Two files of tests may come here at once: each fills a folder of its own, and the first one to be done gives it its name. */
async function fillOnce(options: FillOptions, source: string): Promise<void> {
  const part = `${source}-${process.pid}`;
  const filled = await fillDemo(join(part, "data"), options);
  writeFileSync(join(part, FILLED), JSON.stringify(filled));
  try {
    renameSync(part, source);
  } catch (error) {
    if (!existsSync(source)) throw error;
    rmSync(part, { recursive: true });
  }
}
