/** The records of a CSV text (RFC 4180). Throws when it is none, as when a quote stands where no field begins or ends. */
export function readCsv(text: string): readonly (readonly string[])[] {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy;
  const records: string[][] = [];
  let record: string[] = [];
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const found = field.exec(text);
    if (found === null) throw new Error(`no field begins with ${JSON.stringify(text.slice(at, at + 40))}`);
    const [, quoted, plain = "", end] = found;
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    records.push(record);
    record = [];
  }
  return records;
}
