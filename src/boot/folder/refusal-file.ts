import { closeSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Refusal, RefusalStore } from "#http/door/refusals.ts";
import { isErrorCode } from "#kernel/errors.ts";
import { parseJson } from "#kernel/json.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { systemCode } from "#kernel/system-code.ts";
import { REFUSALS_NAME } from "#storage/files/data-files.ts";
import { openPrivateFile } from "#storage/files/private-file.ts";

/** Some three times the largest that is written: anything larger is not read. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The refusals of a data folder, one JSON object a line, in a private file that is replaced as a whole: no kill leaves half
 * of one. A file that cannot be read, and a line that is no refusal, count as none.
 */
export function createRefusalFile(dataDir: string, log: Log): RefusalStore {
  const path = join(dataDir, REFUSALS_NAME);
  let isFailing = false;
  return {
    read() {
      try {
        if (statSync(path).size > FILE_BYTES_MAX) throw new RangeError("the file is too large");
        return readFileSync(path, "utf8").split("\n").flatMap(parseLine);
      } catch (cause) {
        if (systemCode(cause) !== "ENOENT")
          log.warn("the refusals of before cannot be read", describeCause(cause));
        return [];
      }
    },
    async write(refusals) {
      try {
        await replaceFile(path, refusals.map((refusal) => `${JSON.stringify(refusal)}\n`).join(""));
        isFailing = false;
      } catch (cause) {
        if (!isFailing) log.warn("refusals cannot be written down", describeCause(cause));
        isFailing = true;
      }
    },
  };
}

async function replaceFile(path: string, text: string): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const file = openPrivateFile(unfinished, "w");
  try {
    // By a thread of the runtime: a slow disk holds up no request.
    await Bun.write(Bun.file(file), text);
  } finally {
    closeSync(file);
  }
  renameSync(unfinished, path);
}

function parseLine(line: string): readonly Refusal[] {
  const wire = parseJson(line);
  if (typeof wire !== "object" || wire === null) return [];
  const read = (name: keyof Refusal): unknown => Reflect.get(wire, name);
  const [id, arrivedAtUs, code] = [read("id"), read("arrivedAtUs"), read("code")];
  if (typeof id !== "string" || typeof arrivedAtUs !== "number" || !isErrorCode(code)) return [];
  if (!Number.isSafeInteger(arrivedAtUs)) return [];
  const toText = (name: keyof Refusal) => {
    const value = read(name);
    return typeof value === "string" ? value : null;
  };
  return [
    {
      id,
      arrivedAtUs,
      code,
      message: toText("message"),
      principal: toText("principal"),
      principalId: toText("principalId"),
      keySuffix: toText("keySuffix"),
      model: toText("model"),
      endpoint: toText("endpoint"),
      client: toText("client"),
    },
  ];
}
