import type { KeptResponse, ResponseKey, ResponseStore } from "#catalog/kept-response.ts";
import { isInScope, type ModelScope } from "#catalog/model.ts";
import { requireEnabled } from "#catalog/resolve.ts";
import type { CatalogSnapshot, ResolvedModel } from "#catalog/snapshot.ts";
import { type Clock, DAY_US } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type Log, describeCause } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import { Turns, joinNext } from "#kernel/turns.ts";
import { type UsageBeginning, isSuccess, PENDING_USAGE } from "#usage/event.ts";
import type { MeterReading } from "#usage/meter.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import { type ProxiedRequest, type ResponseWatch, toOutcome } from "./proxied-request.ts";
import type { Settlements } from "./settlements.ts";
import { isTerminal, type ToldResponse } from "#usage/dialects.ts";

interface KeptResponsesDeps {
  readonly store: ResponseStore;
  readonly secrets: Pick<SecretBox, "hashResponseId">;
  readonly settlements: Pick<Settlements, "settle" | "isSettled">;
  readonly catalog: { snapshot(): Promise<CatalogSnapshot> };
  readonly metrics: Pick<UsageMetrics, "open">;
  readonly clock: Clock;
  readonly log: Log;
  /** The lane of the requests of this process. */
  readonly lane: number;
  /** Days for which a response is found; 0 keeps none. */
  readonly days: number;
}

/** A response that its caller may ask for, and the model by whose name it may use it now. */
interface FoundResponse {
  readonly kept: KeptResponse;
  /** With the provider that keeps it, which is not the model's own once that has moved. */
  readonly model: ResolvedModel;
}

/** The longest time that an answer waits until its id is kept. It goes on after that: it was paid for. */
const KEEP_WAIT_MS_MAX = 2_000;
/** Responses that are written together: a longer transaction would hold up what else is served. */
export const KEPT_AT_ONCE_MAX = 256;
/** Responses that are removed, or settled, in one step of tidying. */
const TIDIED_AT_ONCE_MAX = 256;
const TIDY_INTERVAL_MS = 60_000;

/** Where the responses are that providers keep: who may ask for them, and the settlement of what was pending. */
export class KeptResponses {
  readonly #deps: KeptResponsesDeps;
  readonly #turns = new Turns();
  /** By hash and principal: two of one key would be two rows of one statement. */
  #waiting = new Map<string, KeptResponse>();
  /** Those whose key is of an event that is not settled yet. */
  readonly #keptOut = new WeakSet<KeptResponse>();
  readonly #write = joinNext(() => this.#writeWaiting());
  #timer: ReturnType<typeof setInterval> | null = null;
  #tidying: Promise<void> | null = null;
  readonly #marking = new Set<Promise<void>>();

  constructor(deps: KeptResponsesDeps) {
    this.#deps = deps;
  }

  /** Tidies from now on, until it is closed. */
  start(): void {
    this.#timer = setInterval(() => void this.tidy(), TIDY_INTERVAL_MS);
    void this.tidy();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all([this.#tidying, ...this.#marking]);
  }

  /**
   * Keeps where the response is that a request is answered with. Fulfilled when it is found, with its key; with null when none
   * is kept, when its id is found for an earlier request that is not settled yet, or when it could not be written. Never
   * rejects: the answer was paid for, and goes on without being found later.
   */
  async keep(
    { principalId, providerId, arrivedAtUs }: UsageBeginning,
    {
      id,
      modelId,
      isSettled,
    }: { readonly id: string; readonly modelId: string; readonly isSettled: boolean },
  ): Promise<ResponseKey | null> {
    const { secrets, clock, log, lane, days } = this.#deps;
    if (days === 0) return null;
    const [idHash] = secrets.hashResponseId(id);
    const response: KeptResponse = {
      idHash,
      principalId,
      modelId,
      providerId,
      eventId: arrivedAtUs,
      lane,
      isSettled,
      expiresAtUs: clock.nowUs() + days * DAY_US,
    };
    const key = `${idHash} ${principalId}`;
    if (this.#waiting.get(key)?.isSettled === false) this.#keptOut.add(response);
    else this.#waiting.set(key, response);
    try {
      await withinLimit(this.#write(), KEEP_WAIT_MS_MAX, () => {
        throw new Error("it took too long");
      });
      return this.#keptOut.has(response) ? null : { idHash, principalId };
    } catch (cause) {
      log.warn(
        "where a response is could not be written down: it is not found by its id",
        describeCause(cause),
      );
      return null;
    }
  }

  async #writeWaiting(): Promise<void> {
    // Those that are answered in one turn are one transaction.
    await this.#turns.next();
    const responses = [...this.#waiting.values()];
    this.#waiting = new Map();
    for (let at = 0; at < responses.length; at += KEPT_AT_ONCE_MAX)
      for (const response of await this.#deps.store.keep(responses.slice(at, at + KEPT_AT_ONCE_MAX)))
        this.#keptOut.add(response);
  }

  /**
   * The response with this id. Throws `response_not_found` with the same words for one that is unknown, has expired, is another
   * principal's or of a model that is gone or that the caller may not use, and `model_not_found` when its provider is disabled.
   */
  async find(
    id: string,
    { principalId, models }: { readonly principalId: string; readonly models: ModelScope },
    catalog: CatalogSnapshot,
  ): Promise<FoundResponse> {
    const { store, secrets, clock, days } = this.#deps;
    const kept = days === 0 ? null : await store.find(secrets.hashResponseId(id), principalId);
    const isCurrent = kept !== null && kept.expiresAtUs > clock.nowUs();
    const model = isCurrent ? findUsable(catalog, kept, models) : null;
    if (kept === null || model === null) throw this.#toNotFound();
    return { kept, model: requireEnabled(model) };
  }

  #toNotFound(): ProxyError {
    return new ProxyError(
      "response_not_found",
      this.#deps.days === 0
        ? "There is no such response: this server keeps no ids of responses (PROXY_RESPONSES_DAYS=0)."
        : "There is no such response: its id is unknown, or its time is over, or it is not yours.",
    );
  }

  /** Fulfilled when the event that the response belongs to is settled by what was told of it. Never rejects: a later answer tells it again. */
  async settle(kept: KeptResponse, told: MeterReading): Promise<void> {
    await this.#attempt("a pending event could not be settled: a later poll settles it", async () => {
      await this.#settle(kept, told);
      await this.#deps.store.markSettled(kept);
    });
  }

  /** The response is gone at its provider: whatever was told of it settles its event. Never rejects. */
  async forget(kept: KeptResponse, told: MeterReading): Promise<void> {
    await this.#attempt("a response that was deleted could not be forgotten", async () => {
      if (!kept.isSettled) await this.#settle(kept, told);
      await this.#deps.store.remove(kept);
    });
  }

  /** The answer that began the response has told of its end as well: it is marked once the ledger has that. Never throws. */
  ended(key: ResponseKey, { arrivedAtUs }: Pick<UsageBeginning, "arrivedAtUs">): void {
    const { settlements, store, lane } = this.#deps;
    const marking = this.#attempt("a response could not be marked as settled", async () => {
      if (await settlements.isSettled({ eventId: arrivedAtUs, lane })) await store.markSettled(key);
    }).finally(() => this.#marking.delete(marking));
    this.#marking.add(marking);
  }

  async #settle({ eventId, lane, modelId, providerId }: KeptResponse, told: MeterReading): Promise<void> {
    const { catalog, settlements, metrics } = this.#deps;
    const snapshot = await catalog.snapshot();
    const providerName = snapshot.findProviderById(providerId)?.name ?? "";
    const model = snapshot.findModelById(modelId)?.model.alias ?? null;
    await settlements.settle({
      event: { eventId, lane },
      ...toOutcome(told),
      usage: told.usage,
      tier: told.tier,
      geo: told.geo,
      costReportedPico: told.costReportedPico,
      providerName,
      findPrices: (current) => current.findModelById(modelId),
      counter: metrics.open({ endpoint: "responses", provider: providerName, model }),
    });
  }

  /** Removes what has expired, and settles what a deleted principal has left. Never rejects. */
  tidy(): Promise<void> {
    this.#tidying ??= this.#tidy().finally(() => {
      this.#tidying = null;
    });
    return this.#tidying;
  }

  async #tidy(): Promise<void> {
    const { store, clock } = this.#deps;
    await this.#attempt("kept responses could not be tidied", async () => {
      while ((await store.removeExpired(clock.nowUs(), TIDIED_AT_ONCE_MAX)) === TIDIED_AT_ONCE_MAX);
      for (const orphan of await store.listOrphans(TIDIED_AT_ONCE_MAX)) {
        await this.#settle(orphan, NOT_REPORTED);
        await store.remove(orphan);
      }
    });
  }

  async #attempt(failed: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      this.#deps.log.warn(failed, describeCause(cause));
    }
  }
}

const NOT_REPORTED: MeterReading = { usage: null, errorKind: null, complete: false };

/** Null when the model is gone, or when the caller may use it by none of its names. */
function findUsable(catalog: CatalogSnapshot, kept: KeptResponse, scope: ModelScope): ResolvedModel | null {
  const asked = catalog.findModelById(kept.modelId);
  const provider = catalog.findProviderById(kept.providerId);
  if (asked === null || provider === null) return null;
  const names = [asked.model, asked.bound, ...catalog.namesFor(asked.bound.id)];
  const usable = names.find(({ alias }) => isInScope(scope, alias));
  const model = usable === undefined ? null : catalog.findModelById(usable.id);
  return model === null ? null : { ...model, provider };
}

/** The response that a request makes: it is found from the moment in which its caller knows the id. */
export class MadeResponse implements ResponseWatch {
  readonly #responses: KeptResponses;
  readonly #request: UsageBeginning & Pick<ProxiedRequest, "background">;
  readonly #modelId: string;
  #isSuccess = false;
  #keeping: Promise<ResponseKey | null> | null = null;
  /** The key is that of an answer in the background that has told of its own end. */
  #ownEnd: ResponseKey | null = null;

  constructor(
    responses: KeptResponses,
    request: UsageBeginning & Pick<ProxiedRequest, "background">,
    modelId: string,
  ) {
    this.#responses = responses;
    this.#request = request;
    this.#modelId = modelId;
  }

  answered(statusCode: number): void {
    this.#isSuccess = isSuccess(statusCode);
  }

  get hasHeard(): boolean {
    return this.#keeping !== null;
  }

  async told({ id, isBackground, isStored }: ToldResponse): Promise<void> {
    if (!this.#isSuccess || !isStored) return;
    this.#keeping ??= this.#keep(id, isBackground);
    await this.#keeping;
  }

  async #keep(id: string, isBackground: boolean): Promise<ResponseKey | null> {
    // Whatever its status: a kill may come before the end of its request is written down.
    const isSettled = !isBackground;
    const key = await this.#responses.keep(this.#request, { id, modelId: this.#modelId, isSettled });
    if (key !== null && isBackground) await this.#request.background();
    return key;
  }

  ended(reading: MeterReading): MeterReading | Promise<MeterReading> {
    return reading.response === undefined ? reading : this.#ended(reading, reading.response);
  }

  async #ended(reading: MeterReading, response: ToldResponse): Promise<MeterReading> {
    await this.told(response);
    const key = await this.#keeping;
    // A response that is not found by its id is never settled: its usage was not reported.
    if (!response.isBackground || key === null) return reading;
    if (!isTerminal(response.status))
      return { ...reading, usage: PENDING_USAGE, errorKind: null, complete: true };
    this.#ownEnd = key;
    return reading;
  }

  recorded(): void {
    if (this.#ownEnd !== null) this.#responses.ended(this.#ownEnd, this.#request);
  }
}

/** A response that a request asks for by its id. What is told of it is the usage of the request that made it. */
export class AskedResponse implements ResponseWatch {
  readonly hasHeard = true;
  readonly #responses: KeptResponses;
  readonly #found: FoundResponse;
  readonly #id: string;
  readonly #isDeletion: boolean;
  #isSuccess = false;

  constructor(
    responses: KeptResponses,
    found: FoundResponse,
    { id, isDeletion }: { readonly id: string; readonly isDeletion: boolean },
  ) {
    this.#responses = responses;
    this.#found = found;
    this.#id = id;
    this.#isDeletion = isDeletion;
  }

  answered(statusCode: number): void {
    this.#isSuccess = isSuccess(statusCode);
  }

  told(): null {
    return null;
  }

  async ended(reading: MeterReading): Promise<MeterReading> {
    const { kept } = this.#found;
    const { response, complete } = reading;
    // An answer that holds another response tells nothing of this one.
    const isOfIt = this.#isSuccess && (response === undefined || response.id === this.#id);
    if (isOfIt && this.#isDeletion) await this.#responses.forget(kept, reading);
    else if (isOfIt && !kept.isSettled && isTerminal(response?.status ?? null))
      await this.#responses.settle(kept, reading);
    // That the response failed is no failure of the request that asks for it.
    const errorKind = response === undefined ? reading.errorKind : null;
    return { usage: null, errorKind, complete };
  }

  recorded(): void {}
}
