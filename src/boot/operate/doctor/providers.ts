import type { Environment } from "#boot/settings/environment.ts";
import { createDiscovery, type FetchModels } from "#catalog/discovery.ts";
import type { Provider } from "#catalog/provider.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { createModelsCall, MODELS_BYTES_MAX } from "#forward/models-call.ts";
import { probeProvider, type ProbeOutcome } from "#forward/provider-probe.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toFailure, toOk, toWarning, type Check, standAlone } from "./check.ts";

const PROBES_AT_ONCE = 8;
const SLOW_MS = 5_000;
const CLOCK_SKEW_SECONDS_MAX = 60;

interface ProvidersLook {
  readonly catalog: { snapshot(): Promise<CatalogSnapshot> };
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly env: Environment;
  /** The arrival of the newest event, if any. */
  readonly newestAtUs: number | null;
}

/** A check of each provider, and one of the clock, which they tell. */
export async function checkProviders(look: ProvidersLook): Promise<readonly Check[]> {
  const { providers } = await look.catalog.snapshot();
  if (providers.length === 0) {
    const advice = "Add one: lockport provider add --help";
    return [toWarning("providers", "there is none yet", advice), checkClock([], look)];
  }
  const isProxied = isBehindProxy(look.env);
  const checks: Check[] = [];
  const skews: number[] = [];
  for (let at = 0; at < providers.length; at += PROBES_AT_ONCE) {
    const slice = providers.slice(at, at + PROBES_AT_ONCE);
    const looks = slice.map(async (provider) => {
      if (!provider.enabled) return toOk(toName(provider), "disabled, so it was not asked");
      const outcome = await probeProvider(provider, { ...look, isProxied });
      if (outcome.kind === "answered" && outcome.clockSkewSeconds !== null)
        skews.push(outcome.clockSkewSeconds);
      const alone = {
        name: toName(provider),
        needs: [],
        advice: "Ask it with curl, and report what is seen.",
      };
      return standAlone(alone, () => toCheck(provider, outcome, look));
    });
    checks.push(...(await Promise.all(looks)));
  }
  return [...checks, checkClock(skews, look)];
}

async function toCheck(provider: Provider, outcome: ProbeOutcome, look: ProvidersLook): Promise<Check> {
  const name = toName(provider);
  const set = `lockport provider set ${provider.name}`;
  if (outcome.kind === "sealed") {
    return toFailure(
      name,
      "its credential was sealed for another address or with another secret key: something else than Lockport changed its row",
      `Look at its base URL and set the key again: ${set} --base-url URL --api-key-file FILE`,
    );
  }
  if (outcome.kind === "failed") return toFailedStep(name, outcome, set);
  const { fetched, contentType, durationMs } = outcome;
  if (fetched.kind === "refused") {
    const finding = `/models answered with status ${fetched.status}`;
    if (fetched.status === 401 || fetched.status === 403) {
      return toFailure(
        name,
        `${finding}: it refuses the credential`,
        `Set another: ${set} --api-key-file FILE. Or it takes it in another header: ${set} --auth-style ${provider.authStyle === "bearer" ? "x-api-key" : "bearer"}`,
      );
    }
    const advice =
      "Its base URL may be wrong (most end in /v1), or it lists no models; requests may work all the same.";
    return fetched.status >= 500
      ? toFailure(name, finding, "It is failing: ask its status page, and try again.")
      : toWarning(name, finding, advice);
  }
  if (contentType === "text/html") {
    const advice = `Correct the base URL (most end in /v1): ${set} --base-url URL`;
    return toFailure(name, "/models answered with a web page (HTML) and not with JSON", advice);
  }
  try {
    const fetchNext = createModelsCall({ ...look, maxResponseBytes: MODELS_BYTES_MAX });
    const fetchModels: FetchModels = async (asked, page) =>
      page.afterId === null ? fetched : fetchNext(asked, page);
    const discovery = createDiscovery({ ...look, fetchModels });
    const { models } = await discovery.discover(provider.name, new AbortController().signal);
    const finding = `answers in ${Math.round(durationMs)} ms, lists ${models.length} models`;
    return durationMs > SLOW_MS
      ? toWarning(
          name,
          finding,
          "That is slow: every request waits as long for its connection or for the provider.",
        )
      : toOk(name, finding);
  } catch (cause) {
    if (!(cause instanceof ProxyError)) throw cause;
    return toWarning(name, cause.message, "Requests may work all the same; models have to be bound by name.");
  }
}

const STEP_FINDINGS = {
  dns: "its name does not resolve",
  tcp: "no connection can be made",
  tls: "TLS fails",
  models: "/models gets no answer",
} as const;

/** Failures of TLS that no certificate mends, by code: an answer without TLS, and none. */
const NO_TLS_FINDINGS: { readonly [code: string]: string } = {
  ERR_SSL_WRONG_VERSION_NUMBER: "it speaks http there, and not https",
  ERR_SSL_HTTP_REQUEST: "it speaks http there, and not https",
  ECONNRESET: "it breaks off when TLS begins",
  timeout: "it says nothing when TLS begins",
};

function toFailedStep(
  name: string,
  { step, code }: { readonly step: keyof typeof STEP_FINDINGS; readonly code: string },
  set: string,
): Check {
  const noTls = step === "tls" ? NO_TLS_FINDINGS[code] : undefined;
  if (noTls !== undefined) {
    const advice = `Begin its base URL with http:// if that is what it speaks, else correct its port: ${set} --base-url URL`;
    return toFailure(name, `${noTls} (${code})`, advice);
  }
  const advice = {
    dns: `Correct the base URL, or this machine's DNS: ${set} --base-url URL`,
    tcp: `Is it running, and is the way to it open (firewall, proxy)? Else: ${set} --base-url URL`,
    tls: `Give the certificate of its authority: ${set} --ca-file FILE. For a certificate that has run out it has to get a new one.`,
    models: `It takes the connection and does not answer: look at it there, or begin its base URL with https:// if that is what it speaks: ${set} --base-url URL`,
  } as const;
  return toFailure(name, `${STEP_FINDINGS[step]} (${code})`, advice[step]);
}

function checkClock(skews: readonly number[], { clock, newestAtUs }: ProvidersLook): Check {
  const name = "clock";
  const aheadSeconds = newestAtUs === null ? 0 : Math.round((newestAtUs - clock.nowUs()) / 1e6);
  if (aheadSeconds > CLOCK_SKEW_SECONDS_MAX) {
    const finding = `the newest request in usage.db is ${aheadSeconds} s in the future`;
    return toWarning(name, finding, "Set the clock (NTP): reports count a request at the time that it had.");
  }
  // The nearest, since one provider's clock may be the wrong one.
  const [nearest] = skews.toSorted((left, right) => Math.abs(left) - Math.abs(right));
  if (nearest === undefined) return toOk(name, "no provider told the time to compare it with");
  const difference = `${Math.abs(nearest)} s ${nearest > 0 ? "behind" : "ahead of"} a provider's`;
  if (Math.abs(nearest) <= CLOCK_SKEW_SECONDS_MAX) {
    return toOk(name, nearest === 0 ? "agrees with a provider's" : difference);
  }
  return toWarning(name, difference, "Set the clock (NTP): windows, sessions and certificates go by it.");
}

function toName({ name }: Provider): string {
  return `provider ${name}`;
}

/** `fetch` honours these; `NO_PROXY` is its own to read. */
const PROXY_VARIABLES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];

/** True when an outgoing proxy may stand between this machine and a provider. */
export function isBehindProxy(env: Environment): boolean {
  return PROXY_VARIABLES.some((name) => (env[name] ?? "") !== "");
}
