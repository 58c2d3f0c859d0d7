import type { ResponseKey } from "#catalog/kept-response.ts";
import { isSuccess, PENDING_USAGE, type UsageBeginning } from "#usage/event.ts";
import { isTerminal } from "#usage/meter-responses.ts";
import type { MeterReading, ToldResponse } from "#usage/meter.ts";
import type { Account } from "./account.ts";
import type { FoundResponse, KeptResponses } from "./kept-responses.ts";

/** What becomes of what an answer tells of a response that its provider keeps. Of most endpoints' answers nothing does. */
export interface ResponseWatch {
  began(account: Account): void;
  /** The head of the answer has come. */
  answered(statusCode: number): void;
  /** What a stream has told so far, before the bytes that told it go on; null: they may go on at once. */
  told(response: ToldResponse): Promise<void> | null;
  /** Whether `told` has no more to hear. */
  readonly hasHeard: boolean;
  /** The reading as the usage event of this request has it. Called once, before the event is written. Never rejects. */
  ended(reading: MeterReading): MeterReading | Promise<MeterReading>;
}

/** The response that a request makes: it is found from the moment in which its caller knows the id. */
export class MadeResponse implements ResponseWatch, Disposable {
  readonly #responses: KeptResponses;
  readonly #subject: UsageBeginning;
  readonly #modelId: string;
  #account: Pick<Account, "background"> | null = null;
  #isSuccess = false;
  #keeping: Promise<ResponseKey | null> | null = null;
  /** The key is that of an answer in the background that has told of its own end. */
  #ownEnd: ResponseKey | null = null;

  constructor(responses: KeptResponses, subject: UsageBeginning, modelId: string) {
    this.#responses = responses;
    this.#subject = subject;
    this.#modelId = modelId;
  }

  began(account: Pick<Account, "own" | "background">): void {
    this.#account = account;
    account.own(this);
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
    const key = await this.#responses.keep(this.#subject, { id, modelId: this.#modelId, isSettled });
    if (key !== null && isBackground) await this.#account?.background();
    return key;
  }

  ended(reading: MeterReading): MeterReading | Promise<MeterReading> {
    return reading.response === undefined ? reading : this.#ended(reading, reading.response);
  }

  async #ended(reading: MeterReading, response: ToldResponse): Promise<MeterReading> {
    await this.told(response);
    const key = await this.#keeping;
    // What is not found by its id is settled by nothing: it was not reported.
    if (!response.isBackground || key === null) return reading;
    if (!isTerminal(response.status))
      return { ...reading, usage: PENDING_USAGE, errorKind: null, complete: true };
    this.#ownEnd = key;
    return reading;
  }

  /** Its event is written. */
  [Symbol.dispose](): void {
    if (this.#ownEnd !== null) this.#responses.ended(this.#ownEnd, this.#subject);
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

  began(): void {}

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
}
