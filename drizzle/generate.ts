/**
 * Writes the next migration of each engine whose tables have changed: `bun drizzle/generate.ts <what-changes>`. The tables
 * before are those of the commit that touched the engine's migrations last, so a migration is committed together with the
 * change of its tables. Read what was written before it is kept, and name it in `MIGRATIONS` of the engine.
 */
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { ENGINES } from "./tables.ts";

const root = join(import.meta.dir, "..");
const [, , title = ""] = process.argv;
if (!/^[a-z][a-z_]*$/.test(title)) throw new Error("say what changes: bun drizzle/generate.ts added_column");

for (const engine of ["sqlite", "postgres"] as const) {
  const folder = join(import.meta.dir, engine);
  const { describe, compare } = ENGINES[engine];
  const statements = await compare(await describeFormer(engine), (await describe()) as never);
  if (statements.length === 0) continue;
  const number = readdirSync(folder).filter((name) => name.endsWith(".sql")).length;
  const file = join(folder, `${String(number).padStart(4, "0")}_${title}.sql`);
  await Bun.write(file, `${statements.join("\n--> statement-breakpoint\n")}\n`);
  console.log(file);
}

async function describeFormer(engine: keyof typeof ENGINES): Promise<any> {
  const folder = mkdtempSync(join(tmpdir(), "tables-"));
  try {
    const commit = (await $`git log -1 --format=%H -- drizzle/${engine}`.cwd(root).text()).trim();
    await $`git archive ${commit} package.json drizzle src | tar -x -C ${folder}`.cwd(root);
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const former: { ENGINES: typeof ENGINES } = await import(join(folder, "drizzle/tables.ts"));
    return await former.ENGINES[engine].describe();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
