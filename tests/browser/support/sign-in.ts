import { createBrowser } from "../../support/browser.ts";
import { passProvider } from "../../support/identity-provider.ts";
import type { Site } from "./site.ts";
import type { Visitor } from "./visitor.ts";

const SESSION_COOKIE = "proxy_session";

/** Gives the visitor a session of `admin`, without the page's form; the visitor's next request has it. */
export async function signInAsAdmin(visitor: Visitor, site: Site): Promise<void> {
  const response = await fetch(`${site.url}/auth/password`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ password: site.adminPassword }),
  });
  const [cookie = ""] = response.headers.getSetCookie();
  const value = new RegExp(`^${SESSION_COOKIE}=([^;]+)`).exec(cookie)?.[1];
  if (response.status !== 200 || value === undefined) {
    throw new Error(`sign-in answered ${response.status}: ${await response.text()}`);
  }
  await addSession(visitor, value);
}

/** Gives the visitor a session of somebody whom the site's identity provider knows, who becomes a principal by it. */
export async function signInBySso(visitor: Visitor, site: Site, login: string): Promise<void> {
  const courier = createBrowser();
  const { location } = await courier.visit(`${site.url}/auth/login`);
  if (location === null) throw new Error("the site has no single sign-on");
  const { text } = await courier.visit(await passProvider(courier, location, login));
  const value = courier.findCookie(site.url, SESSION_COOKIE);
  if (value === null) throw new Error(`single sign-on ended without a session: ${text.slice(0, 500)}`);
  await addSession(visitor, value);
}

/** A link that signs somebody in once, from the site's own command line: its path, and the token behind `#`. */
export async function makeLoginLink(site: Site, name = "admin"): Promise<string> {
  const { code, data, messages } = await site.cli(
    "admin",
    "login-link",
    "--name",
    name,
    "--server",
    site.url,
  );
  const link = data.trim().split("\n").at(-1) ?? "";
  if (code !== 0 || !link.startsWith(site.url)) throw new Error(`no login link: ${data}${messages}`);
  return link.slice(site.url.length);
}

async function addSession({ context, baseUrl }: Visitor, value: string): Promise<void> {
  await context.addCookies([{ name: SESSION_COOKIE, value, url: baseUrl, httpOnly: true, sameSite: "Lax" }]);
}
