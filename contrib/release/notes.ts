/** What the changelog says of a version, without its heading. Throws where it says nothing. */
export function findNotes(changelog: string, version: string): string {
  const [, ...parts] = `\n${changelog}`.split("\n## ");
  const part = parts.find((each) => each.split(/\s/, 1)[0] === version);
  const notes = part?.slice(part.indexOf("\n")).trim() ?? "";
  if (notes === "") throw new Error(`CHANGELOG.md says nothing of ${version}.`);
  return notes;
}

/** Whether its heading says so. */
export function isUnreleased(changelog: string, version: string): boolean {
  return changelog.includes(`\n## ${version} (unreleased)\n`);
}
