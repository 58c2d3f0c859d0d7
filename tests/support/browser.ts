/** As much of a browser as a sign-in needs: cookies, redirects one by one, forms. */
export interface Browser {
  /** One request, with the cookies that belong to it; redirects are not followed. */
  visit(url: string | URL, options?: VisitOptions): Promise<Visit>;
  /** The value of a cookie that would be sent to this URL. */
  findCookie(url: string, name: string): string | null;
  /** What a page of another origin cannot do, and an attacker at the keyboard can. */
  setCookie(url: string, name: string, value: string): void;
}

export interface VisitOptions {
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Visit {
  readonly url: URL;
  readonly response: Response;
  readonly text: string;
  /** Where it redirects to, absolute. */
  readonly location: URL | null;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
}

export interface BrowserOptions {
  readonly keepsCookies?: boolean;
}

/** Cookies are told apart by host and path, and not by port (RFC 6265, section 8.5). */
export function createBrowser({ keepsCookies = true }: BrowserOptions = {}): Browser {
  const jar = new Map<string, Cookie>();
  const belonging = (url: URL) =>
    [...jar.values()].filter(({ host, path }) => host === url.hostname && isUnder(url.pathname, path));
  const keep = (url: URL, line: string) => {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const name = pair.slice(0, pair.indexOf("="));
    const value = pair.slice(pair.indexOf("=") + 1);
    const find = (wanted: string) =>
      attributes
        .find((attribute) => attribute.toLowerCase().startsWith(`${wanted}=`))
        ?.slice(wanted.length + 1);
    const path = find("path") ?? "/";
    const key = `${url.hostname} ${path} ${name}`;
    const expires = find("expires");
    const isGone = find("max-age") === "0" || (expires !== undefined && Date.parse(expires) < Date.now());
    if (isGone) jar.delete(key);
    else if (keepsCookies) jar.set(key, { name, value, host: url.hostname, path });
  };

  return {
    findCookie: (url, name) => belonging(new URL(url)).find((cookie) => cookie.name === name)?.value ?? null,
    setCookie: (url, name, value) => keep(new URL(url), `${name}=${value}; path=/auth`),
    async visit(target, { form, headers = {} } = {}) {
      const url = new URL(target);
      const cookie = belonging(url)
        .map(({ name, value }) => `${name}=${value}`)
        .join("; ");
      const response = await fetch(url, {
        redirect: "manual",
        headers: { accept: "text/html,*/*;q=0.8", ...(cookie !== "" && { cookie }), ...headers },
        ...(form !== undefined && { method: "POST", body: new URLSearchParams(form) }),
      });
      for (const line of response.headers.getSetCookie()) keep(url, line);
      const location = response.headers.get("location");
      return {
        url,
        response,
        text: await response.text(),
        location: location === null ? null : new URL(location, url),
      };
    },
  };
}

function isUnder(pathname: string, path: string): boolean {
  return path === "/" || pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);
}
