import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toPagePolicy } from "#http/page/page.ts";
import { compileStyles } from "../../../contrib/build/styles.ts";

const root = join(import.meta.dir, "../../..");

export interface ChartsSite {
  readonly url: string;
  stop(): Promise<void>;
}

/** The charts as they are shown, with the page's own styles and under its own policy. */
export async function startChartsSite(): Promise<ChartsSite> {
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(new URL("./charts-showcase.ts", import.meta.url))],
    target: "browser",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const code = (await outputs[0]?.text()) ?? "";
  const styles = await compileStyles(join(root, "ui/styles.css"));
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Charts</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/styles.css"><script type="module" src="/assets/charts.js"></script></head><body></body></html>`;
  const toResponse = (text: string, type: string) => {
    const policy = toPagePolicy({ host: server.url.host, publicUrl: null });
    return new Response(text, { headers: { "content-type": type, "content-security-policy": policy } });
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/assets/styles.css": () => toResponse(styles, "text/css"),
      "/assets/charts.js": () => toResponse(code, "text/javascript"),
    },
    fetch: () => toResponse(html, "text/html; charset=utf-8"),
  });
  return { url: server.url.origin, stop: () => server.stop(true) };
}
