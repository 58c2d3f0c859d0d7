/**
 * Writes the next migration of each engine whose tables have changed: `bun drizzle/generate.ts <what-changes>`. The tables
 * before are those of the commit that touched the engine's migrations last, so a migration is committed together with the
 * change of its tables. Read what was written before it is kept. The engine's list of migrations is written anew.
 */
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { ENGINES } from "./tables.ts";

const LISTS = {
  sqlite: "src/storage/sqlite/catalog/migrations.ts",
  postgres: "src/storage/postgres/connection/migrations.ts",
} as const;

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
  await Bun.write(join(root, LISTS[engine]), toList(engine, readdirSync(folder)));
  console.log(file);
}

/** Imports each file as text, so that an executable carries it. */
function toList(engine: keyof typeof ENGINES, files: readonly string[]): string {
  const names = files.map((file) => file.replace(/\.sql$/, "")).sort();
  const imports = names.map(
    (name) => `import sql${name.slice(0, 4)} from "#drizzle/${engine}/${name}.sql" with { type: "text" };\n`,
  );
  const rows = names.map((name) => `  { name: "${name}", sql: sql${name.slice(0, 4)} },\n`);
  return `${imports.join("")}import type { Migration } from "#storage/sql/migration.ts";

/** The files of drizzle/${engine} in order. \`drizzle/generate.ts\` writes this list. */
export const MIGRATIONS: readonly Migration[] = [
${rows.join("")}];
`;
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
