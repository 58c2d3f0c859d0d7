/** The rules of the page's html, and the places of the built files in it. */

/** Throws for html that the content policy refuses: it would fail in the browser. */
export function checkHtml(html: string): void {
  const found: string[] = [];
  new HTMLRewriter()
    .on("*", {
      element(element) {
        const tag = element.tagName.toLowerCase();
        if (tag === "style") found.push("a <style> element");
        if (tag === "script" && !element.hasAttribute("src")) found.push("a <script> without src");
        if (tag === "base") found.push("a <base> element");
        for (const [name = "", value = ""] of element.attributes) {
          if (name === "style") found.push(`a style attribute of <${tag}>`);
          if (name.startsWith("on")) found.push(`${name} of <${tag}>`);
          if (/^\s*javascript:/i.test(value)) found.push(`a javascript: address of <${tag}>`);
          if (isForeign(name, value)) found.push(`${name} of <${tag}>, which leads to another server`);
        }
      },
    })
    .transform(html);
  if (found.length > 0)
    throw new Error(
      `the page's html may hold nothing inline and nothing foreign, and has ${found.join(", ")}`,
    );
}

/** Files of the source that the html names, as `./main.tsx`. */
export function findReferences(html: string): string[] {
  const references = new Set<string>();
  const collect = (name: string) => ({
    element(element: HTMLRewriterTypes.Element) {
      const value = element.getAttribute(name) ?? "";
      if (value.startsWith("./")) references.add(value);
    },
  });
  new HTMLRewriter().on("[src]", collect("src")).on("[href]", collect("href")).transform(html);
  return [...references];
}

export interface HtmlParts {
  /** Reference → path of the built file. */
  readonly links: ReadonlyMap<string, string>;
  /** Paths of modules that a first visit needs beside the entry: asked for with it, and not one after the other. */
  readonly preloads: readonly string[];
  readonly buildId: string;
  /** Path of the script that reloads the page in development. */
  readonly reload: string | null;
}

export function rewriteHtml(html: string, { links, preloads, buildId, reload }: HtmlParts): string {
  const link = (name: string) => ({
    element(element: HTMLRewriterTypes.Element) {
      const path = links.get(element.getAttribute(name) ?? "");
      if (path !== undefined) element.setAttribute(name, path);
    },
  });
  const additions = [
    `<meta name="build-id" content="${buildId}">`,
    ...preloads.map((path) => `<link rel="modulepreload" href="${path}">`),
    ...(reload === null ? [] : [`<script defer src="${reload}"></script>`]),
  ];
  return new HTMLRewriter()
    .on("[src]", link("src"))
    .on("[href]", link("href"))
    .on("head", { element: (head) => void head.append(additions.join("\n"), { html: true }) })
    .transform(html);
}

function isForeign(name: string, value: string): boolean {
  return (name === "src" || name === "href") && /^\s*(?:[a-z][a-z0-9+.-]*:)?\/\//i.test(value);
}
