import { generateKeyPairSync } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { Browser, Visit } from "./browser.ts";

export const CLIENT_ID = "lockport";
/** Characters that form encoding changes: a provider decodes them again (RFC 6749, section 2.3.1). */
export const CLIENT_SECRET = "a client's secret: 100% & more/+=";

/** Claims of an account, besides `sub`. */
export type AccountClaims = Readonly<Record<string, unknown>>;

export interface IdentityProvider {
  readonly issuer: string;
  /** Starts to serve: clients are registered with where they send people back to. */
  serve(options: IdentityProviderOptions): void;
  /** From now on every connection is answered with 503, until `serve` is called again. */
  fail(): void;
  /** Paths of all requests, in order of arrival. */
  readonly paths: readonly string[];
  stop(): Promise<void>;
}

export interface IdentityProviderOptions {
  readonly redirectUri: string;
  /** By the name that is typed into the form, which becomes `sub`. Read at each sign-in. */
  readonly accounts: Readonly<Record<string, AccountClaims>>;
  /** Default `client_secret_basic`. */
  readonly authMethod?: "client_secret_basic" | "client_secret_post" | "none";
  /** Claims stand in the ID token too, not in user info alone. */
  readonly claimsInIdToken?: boolean;
}

/** The package warns of what makes it good for tests: the runtime, and its pages that take any password. */
const { default: Provider } = await silently(() => import("oidc-provider"));
let signingKey: object | null = null;

/** A certified OpenID provider that nobody here wrote, on a free port, with its own pages for login and consent. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const paths: string[] = [];
  const refuse: RequestListener = (_, response) => {
    response.statusCode = 503;
    response.end("down");
  };
  let listener = refuse;
  const server = createServer((request, response) => {
    paths.push((request.url ?? "").split("?", 1)[0] ?? "");
    listener(request, response);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const issuer = `http://127.0.0.1:${address.port}`;
  return {
    issuer,
    paths,
    serve: (options) => {
      listener = createProvider(issuer, options).callback();
    },
    fail: () => {
      listener = refuse;
    },
    async stop() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Signs in with the provider's own forms, and stops before the browser would go back to where it came from. */
export async function passProvider(browser: Browser, authorizationUrl: URL, login: string): Promise<URL> {
  let visit: Visit = await browser.visit(authorizationUrl);
  for (let step = 0; step < 12; step += 1) {
    if (visit.location !== null) {
      if (visit.location.origin !== authorizationUrl.origin) return visit.location;
      visit = await browser.visit(visit.location);
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(visit.text)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(visit.text)?.[1];
    if (action === undefined || prompt === undefined) {
      throw new Error(`no form: ${visit.response.status} ${visit.text.slice(0, 500)}`);
    }
    const form = prompt === "login" ? { prompt, login, password: "any" } : { prompt };
    visit = await browser.visit(new URL(action, visit.url), { form });
  }
  throw new Error("the provider did not come to an end");
}

/** Turns back at the provider's login page. */
export async function abortAtProvider(browser: Browser, authorizationUrl: URL): Promise<URL> {
  const login = await browser.visit(authorizationUrl);
  const page = await browser.visit(login.location ?? authorizationUrl);
  const abort = /href="([^"]+\/abort)"/.exec(page.text)?.[1];
  let visit = await browser.visit(new URL(abort ?? "", page.url));
  while (visit.location?.origin === authorizationUrl.origin) visit = await browser.visit(visit.location);
  if (visit.location === null) throw new Error("the provider sent nobody back");
  return visit.location;
}

function createProvider(issuer: string, options: IdentityProviderOptions) {
  const { redirectUri, accounts, authMethod = "client_secret_basic", claimsInIdToken = false } = options;
  signingKey ??= {
    ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
    use: "sig",
    alg: "RS256",
  };
  const client = {
    client_id: CLIENT_ID,
    ...(authMethod !== "none" && { client_secret: CLIENT_SECRET }),
    token_endpoint_auth_method: authMethod,
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code"],
    response_types: ["code"],
  };
  return silently(
    () =>
      new Provider(issuer, {
        clients: [client],
        clientAuthMethods: [authMethod],
        jwks: { keys: [signingKey] },
        cookies: { keys: ["a key for tests"] },
        claims: {
          openid: ["sub"],
          profile: ["preferred_username", "name", "groups", "teams"],
          email: ["email"],
        },
        conformIdTokenClaims: !claimsInIdToken,
        pkce: { required: () => true },
        findAccount: (_: unknown, sub: string) => ({
          accountId: sub,
          claims: () => ({ sub, ...accounts[sub] }),
        }),
        ttl: {
          AccessToken: 60,
          AuthorizationCode: 60,
          IdToken: 60,
          Interaction: 600,
          Grant: 600,
          Session: 600,
        },
      }),
  );
}

function silently<Result>(step: () => Result): Result {
  const { warn, info } = console;
  console.warn = () => undefined;
  console.info = () => undefined;
  const restore = () => Object.assign(console, { warn, info });
  try {
    const result = step();
    if (result instanceof Promise) void result.finally(restore);
    else restore();
    return result;
  } catch (error) {
    restore();
    throw error;
  }
}
