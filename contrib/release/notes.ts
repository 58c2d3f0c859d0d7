/** The changelog's section of a version, without its heading. Throws if there is none. */
export function findNotes(changelog: string, version: string): string {
  const [, ...parts] = `\n${changelog}`.split("\n## ");
  const part = parts.find((each) => each.split(/\s/, 1)[0] === version);
  const notes = part?.slice(part.indexOf("\n")).trim() ?? "";
  if (notes === "") throw new Error(`CHANGELOG.md says nothing of ${version}.`);
  return notes;
}

/** The heading of that version says "(unreleased)". */
export function isUnreleased(changelog: string, version: string): boolean {
  return changelog.includes(`\n## ${version} (unreleased)\n`);
}
