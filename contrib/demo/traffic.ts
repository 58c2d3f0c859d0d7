import type { ResolvedModel } from "#catalog/snapshot.ts";
import type { AccountSubject } from "#forward/account.ts";
import { toAttribution } from "#forward/attribution.ts";
import { toAccountSubject } from "#forward/relay.ts";
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
  /** Complete but for the arrival. */
  readonly toSubject: (arrivedAtUs: InstantUs) => AccountSubject;
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
  return {
    ...course,
    isRetried: failure !== null && incident !== null,
    credentialId: credential.id,
    toSubject: (arrivedAtUs) =>
      resolved === null
        ? toAccountSubject(
            {
              ...RELAYED_REQUEST,
              caller: {
                principalId: principal.id,
                principalName: principal.name,
                relayTokenId: credential.id,
                fixedTags: [],
              },
              path: "/v1/messages",
              headers,
              arrivedAtUs,
            },
            { model: habit.model, streamed },
          )
        : toSubject(resolved, {
            arrivedAtUs,
            principalId: principal.id,
            principalName: principal.name,
            keyId: credential.id,
            endpoint: habit.endpoint ?? "chat",
            headers,
            streamed,
          }),
  };
}

/** Makes the request at this instant, which may be now: its steps are added to the time that runs. */
export function playRequest(
  { time, installation }: { readonly time: SimulatedTime; readonly installation: Installation },
  request: PlannedRequest,
  arrivedAtUs: InstantUs,
): void {
  const { accounts, clock, keyUse } = installation;
  const { answer, durationUs, ending } = request;
  time.at(arrivedAtUs, () => {
    keyUse.touch(request.credentialId);
    const account = accounts.open(clock.monotonicMs(), request.toSubject(arrivedAtUs));
    if (answer !== null) {
      time.at(arrivedAtUs + answer.firstByteUs, () => {
        account.answered(answer.statusCode);
        account.firstByte();
      });
    }
    time.at(arrivedAtUs + durationUs, () => account.settle(ending));
  });
}

/** Parts of a relayed request that its usage event does not hold. */
export const RELAYED_REQUEST = {
  method: "POST",
  query: "",
  token: "",
  body: null,
  arrivedAtMs: 0,
  connection: new AbortController(),
} as const;
/** The relay's time limit for a silent upstream. */
const RELAY_TIMEOUT_SECONDS = 300;
function toHeaders({ client, tags }: Habit, progress: number): Headers {
  const userAgent = toUserAgent(client, progress);
  return new Headers({
    ...(userAgent === null ? {} : { "user-agent": userAgent }),
    ...(tags === undefined ? {} : { "x-proxy-tags": tags }),
  });
}

interface Asking {
  readonly arrivedAtUs: InstantUs;
  readonly principalId: string;
  readonly principalName: string;
  readonly keyId: string;
  readonly endpoint: string;
  readonly headers: Headers;
  readonly streamed: boolean;
}

/** The usage subject of a request to `/v1`, as the data plane makes it. */
export function toSubject(resolved: ResolvedModel, asking: Asking): AccountSubject {
  const { model, provider, upstreamName } = resolved;
  const { headers, ...asked } = asking;
  return {
    subject: {
      ...asked,
      relayTokenId: null,
      providerId: provider.id,
      model: model.alias,
      upstreamName,
      ...toAttribution(headers, []),
    },
    terms: {
      providerName: provider.name,
      pricing: { known: resolved, findIn: (catalog) => catalog.findModelById(model.id) },
    },
  };
}
