import type { ResolvedModel } from "#catalog/snapshot.ts";
import { ProxiedRequest, type RequestHead, type RequestTerms } from "#forward/proxied-request.ts";
import { RelayTerms } from "#forward/relay.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Chance } from "../../bench/chance.ts";
import { toUserAgent, type Stage } from "./stage.ts";
import { toCourse, toFailedCourse, type Course } from "./course.ts";
import type { Habit } from "./habits.ts";
import type { Installation } from "./installation.ts";
import type { SimulatedTime } from "./simulated-time.ts";
import { drawFailure, type Incident } from "./trouble.ts";

/** A request that is going to be made, with what will come of it. */
export interface PlannedRequest extends Course {
  readonly credentialId: string;
  readonly head: Pick<RequestHead, "caller" | "headers">;
  readonly terms: RequestTerms;
  readonly streamed: boolean;
  /** Its caller may try again, since the provider failed. */
  readonly isRetried: boolean;
}

export interface Circumstances {
  readonly chance: Chance;
  /** The share of the whole time that has passed. */
  readonly progress: number;
  /** The provider's incident at the moment. */
  readonly findIncident: (provider: string) => Incident | null;
}

/** Null where a server would have refused it: the caller, the key or the model is not there, or the provider is disabled. */
export async function planRequest(
  stage: Stage,
  habit: Habit,
  circumstances: Circumstances,
): Promise<PlannedRequest | null> {
  const isRelayed = habit.isRelayed === true;
  const caller = stage.findCaller(habit.who, { label: habit.label, isRelayed });
  const snapshot = await stage.installation.catalog.snapshot();
  const resolved = isRelayed ? null : snapshot.findModel(habit.model);
  if (caller === null) return null;
  if (!isRelayed && resolved?.provider.enabled !== true) return null;

  const { chance } = circumstances;
  const streamed = chance() < (habit.streams ?? 0);
  const headers = toHeaders(habit, circumstances.progress);
  const { principal, credential } = caller;
  const provider = resolved?.provider.name ?? RELAY_PROVIDER;
  const incident = circumstances.findIncident(provider);
  const failure = drawFailure(chance, provider, incident);
  const course =
    failure === null
      ? toCourse(chance, habit, { upstreamName: resolved?.upstreamName ?? habit.model, streamed })
      : toFailedCourse(
          chance,
          failure,
          (resolved?.provider.timeoutReadSeconds ?? RELAY_TIMEOUT_SECONDS) * 1e6,
        );
  const secret = isRelayed ? { relayTokenId: credential.id } : { keyId: credential.id };
  return {
    ...course,
    isRetried: failure !== null && incident !== null,
    credentialId: credential.id,
    head: {
      caller: { principalId: principal.id, principalName: principal.name, fixedTags: [], ...secret },
      headers,
    },
    terms:
      resolved === null
        ? new RelayTerms(RELAYED_MESSAGE, habit.model, 0)
        : toTerms(resolved, habit.endpoint ?? "chat"),
    streamed,
  };
}

/** Makes the request at this instant, which may be now: its steps are added to the time that runs. */
export function playRequest(
  { time, installation }: { readonly time: SimulatedTime; readonly installation: Installation },
  request: PlannedRequest,
  arrivedAtUs: InstantUs,
): void {
  const { requests, clock, keyUse } = installation;
  const { answer, durationUs, ending, terms, streamed } = request;
  time.at(arrivedAtUs, () => {
    keyUse.touch(request.credentialId);
    const arrival = { arrivedAtUs, arrivedAtMs: clock.monotonicMs(), connection: new AbortController() };
    const made = new ProxiedRequest(requests, { ...request.head, ...arrival }, terms);
    made.streamed = streamed;
    made.begin();
    made.open();
    if (answer !== null) {
      time.at(arrivedAtUs + answer.firstByteUs, () => {
        made.answered(answer.statusCode);
        made.firstByte();
      });
    }
    time.at(arrivedAtUs + durationUs, () => made.settle(ending));
  });
}

const RELAYED_MESSAGE = { method: "POST", path: "/v1/messages" };
/** The relay's time limit for a silent upstream. */
const RELAY_TIMEOUT_SECONDS = 300;
function toHeaders({ client, tags }: Habit, progress: number): Headers {
  const userAgent = toUserAgent(client, progress);
  return new Headers({
    ...(userAgent === null ? {} : { "user-agent": userAgent }),
    ...(tags === undefined ? {} : { "x-proxy-tags": tags }),
  });
}

/** The terms of requests to `/v1`, as the data plane makes them. */
export function toTerms(resolved: ResolvedModel, endpoint: string): RequestTerms {
  const { model, provider, upstreamName } = resolved;
  return {
    providerId: provider.id,
    providerName: provider.name,
    model: model.alias,
    upstreamName,
    endpoint,
    proxiedBy: [],
    credential: null,
    idleMs: 0,
    usesNothing: false,
    knownPrices: resolved,
    findPrices: (catalog) => catalog.findModelById(model.id),
  };
}
