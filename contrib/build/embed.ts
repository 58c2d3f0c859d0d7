import { CODINGS } from "#http/door/negotiation.ts";
import { sha256Hex } from "../../src/kernel/crypto.ts";
import type { EncodedFile } from "./file.ts";

/**
 * Puts the page into the executable: `src/boot/page/embedded-page.ts` is replaced by a module that names each variant of each
 * file as a file import, and those are answered from memory, so that no path of this machine gets into the executable.
 */
export function embedPage(files: readonly EncodedFile[]): Bun.BunPlugin {
  const contents = new Map<string, Uint8Array>();
  const variantsOf = (file: EncodedFile, fileIndex: number) =>
    CODINGS.map((coding) => {
      const bytes = file.encoded[coding];
      const specifier = `page:${fileIndex}.${coding}`;
      contents.set(specifier, bytes);
      return { coding, specifier, etag: `"${sha256Hex(bytes)}"` };
    });
  const embedded = files.map((file, index) => ({ ...file, variants: variantsOf(file, index) }));

  const names = new Map([...contents.keys()].map((specifier, index) => [specifier, `file${index}`]));
  const imports = [...names].map(
    ([specifier, name]) => `import ${name} from "${specifier}" with { type: "file" };`,
  );
  const literals = embedded.map(({ path, contentType, variants }) => {
    const kept = variants.map(
      ({ coding, specifier, etag }) =>
        `{ coding: ${JSON.stringify(coding)}, file: ${names.get(specifier)}, etag: ${JSON.stringify(etag)} }`,
    );
    return `{ path: ${JSON.stringify(path)}, contentType: ${JSON.stringify(contentType)}, variants: [${kept.join(", ")}] }`;
  });
  const module = [...imports, `export const EMBEDDED_FILES = [${literals.join(",\n")}];`].join("\n");

  return {
    name: "embed-page",
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]boot[\\/]page[\\/]embedded-page\.ts$/ }, () => ({
        contents: module,
        loader: "js",
      }));
      build.onResolve({ filter: /^page:/ }, ({ path }) => ({ path, namespace: "page" }));
      build.onLoad({ filter: /.*/, namespace: "page" }, ({ path }) => {
        const bytes = contents.get(path);
        if (bytes === undefined) throw new Error(`there is no ${path}`);
        return { contents: bytes, loader: "file" };
      });
    },
  };
}
