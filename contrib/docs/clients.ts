/** Writes docs/guides/which-clients-work.md from the table of the clients that the tests run: `npm run docs`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT_TABLE, type ClientRow } from "../../tests/clients/table.ts";
import { isPython, toManifestFolder, type GroupName } from "../clients/groups.ts";

/** From the root of the repository. */
export const CLIENTS_PAGE = "docs/guides/which-clients-work.md";

const INTRODUCTION = `# Which clients work

The tests run each of these against the built executable, in the version named here, with only a base URL and a Lockport key: an answer, a stream, and both again with a tool. Each request has to leave one event with the vendor's numbers and their exact cost.

\`URL\` is the address of this server, such as \`http://127.0.0.1:4000\`; the key goes into the variable that has \`KEY\` or \`TOKEN\` in its name. \`lockport snippet\` prints the lines for many of them.

A model serves what its capabilities say: \`responses\` for the Responses API, \`messages\` for Anthropic's messages, \`chat\` and \`chat_stream\` for chat completions, and \`transcription\`, \`speech\`, \`images\`, \`moderation\`, \`embeddings\`, \`rerank\`. Nothing is translated: the provider has to speak the client's dialect.

This page is made from \`tests/clients/table.ts\` by \`npm run docs\`.
`;

const LAST_CHUNK = `## The last chunk of a stream
Every stream of chat completions ends with a chunk that has usage and no \`choices\`. A loop that takes \`chunk.choices[0]\` from each chunk ends with \`IndexError: list index out of range\`. This line prevents it:

\`\`\`python
for chunk in stream:
    if not chunk.choices:
        continue
    print(chunk.choices[0].delta.content or "", end="")
\`\`\`

In TypeScript it is \`chunk.choices[0]?.delta\`. Every client of the table that calls chat completions takes that chunk as it is.

More that a client may say: [Troubleshooting](troubleshooting.md).
`;

export function toClientsPage(): string {
  const rows = CLIENT_TABLE.map((row) => [
    row.name,
    readVersions(row).join(", "),
    row.settings,
    toWorking(row),
    row.notes.join(" "),
  ]);
  const table = [["Client", "Version", "What to set", "Works", "What does not, or not by itself"]];
  return `${INTRODUCTION}\n${toTable([...table, ["---", "---", "---", "---", "---"], ...rows])}\n${LAST_CHUNK}`;
}

const API_NAMES = {
  chat: "chat completions",
  responses: "Responses API",
  messages: "messages",
} as const;

function toWorking({ apis, uses, media }: ClientRow): string {
  const kinds = [
    ...(uses.includes("unary") ? ["unary"] : []),
    ...(uses.includes("stream") ? ["streamed"] : []),
    ...(uses.includes("tools-stream") ? ["tools"] : []),
  ];
  const spoken = apis.map((api) => `${API_NAMES[api]} (${kinds.join(", ")})`);
  return [...spoken, ...(media?.endpoints ?? [])].join(", ");
}

function toTable(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** The exact versions that the group installs. */
export function readVersions({ group, packages }: ClientRow): readonly string[] {
  const versions = readManifest(group);
  return packages.map((name) => {
    const version = versions.get(name);
    if (version === undefined) throw new Error(`${name} is not in the manifest of ${group}`);
    return packages.length === 1 ? version : `${name} ${version}`;
  });
}

function readManifest(group: GroupName): ReadonlyMap<string, string> {
  const folder = toManifestFolder(group);
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  const lines = isPython(group)
    ? read("requirements.txt")
        .split("\n")
        .map((line) => line.split("=="))
    : Object.entries(JSON.parse(read("package.json")).dependencies);
  return new Map(lines.map(([name, version]) => [name, String(version)]));
}

if (import.meta.main) await Bun.write(join(import.meta.dir, "../..", CLIENTS_PAGE), toClientsPage());
