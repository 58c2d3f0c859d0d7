/** Builds the page beside the source, where a server from source finds it: the first step of `npm start`. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { BUILT_PAGE_PATH, type BuiltFile } from "../../src/boot/page/page-assets.ts";
import { describeFailure, buildPage, type BuiltPage } from "./page.ts";

if (import.meta.main) {
  try {
    writeBuiltPage(await buildPage());
  } catch (failure) {
    console.error(describeFailure(failure));
    process.exit(1);
  }
}

/** A server that is reading it meanwhile sees the old one or the new one, never half of one. */
export function writeBuiltPage({ files }: BuiltPage, path: string = BUILT_PAGE_PATH): void {
  const built: BuiltFile[] = files.map((file) => ({
    path: file.path,
    contentType: file.contentType,
    base64: file.bytes.toBase64(),
  }));
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(built));
  renameSync(temporary, path);
}
