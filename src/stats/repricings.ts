import { type AuditChange, toAuditChange } from "#audit/change.ts";
import { type Actor, type AuditAction, type AuditStore, toAuditEntry } from "#audit/event.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { sleep, withinLimit } from "#kernel/timer.ts";
import { picoToNumber } from "#kernel/units.ts";
import {
  addFigures,
  type BeginOutcome,
  NO_FIGURES,
  type PlannedStep,
  type Repricing,
  type RepricingFigures,
  type RepricingStep,
  type RepricingStore,
  type RepricingTerms,
  toBeyondPlan,
} from "./repricing.ts";

/** How often this process looks whether a re-pricing was left alone: another process's, or its own after a failure. */
const CLAIM_INTERVAL_MS = 2_000;
/** Between two attempts at a step that failed. */
const RETRY_INTERVAL_MS = 1_000;
/** Attempts at a plan, which has changed nothing yet. */
const PLAN_TRIES_MAX = 3;
/** Attempts at a step that fails although the ledger can be written, which each of them waits for. */
const STEP_TRIES_MAX = 5;
/** A step takes some tenths of a second. Without a limit, a database that is away would keep the process from ending. */
const CLOSE_WAIT_MS_MAX = 2_000;
/** Between two looks at limits while costs change. */
const RENEW_INTERVAL_MS = 5_000;

interface RepricingsDeps {
  readonly store: RepricingStore;
  readonly audit: Pick<AuditStore, "record">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** True where other processes serve the data: their re-pricings are looked after. */
  readonly isShared: boolean;
  /** Called while costs change, and at the end of that. */
  readonly onCosts: (change: "going" | "done") => Promise<void>;
}

export interface NewRepricing extends Omit<RepricingTerms, "plannedAtUs"> {
  /** Absent: now. Prices of a history are those of this moment. */
  readonly plannedAtUs?: InstantUs;
  /** Only a plan is made, to be applied or left. */
  readonly isDryRun: boolean;
  readonly actor: Actor;
}

/**
 * Re-pricings (specification of money, section 3): one at a time, step by step, each of which is one transaction of the ledger. What
 * a process leaves behind is gone on with at the next start, or by another one.
 */
export class Repricings {
  readonly #deps: RepricingsDeps;
  #timer: ReturnType<typeof setInterval> | null = null;
  /** The last one that this process began, and through it all before: each begins when the one before has told limits. */
  #running: Promise<void> | null = null;
  /** The one under way, here or elsewhere, as far as is known. */
  #active: Pick<Repricing, "id" | "state"> | null = null;
  #isClosed = false;
  #renewedMs = 0;
  /** Calls that have one begun in the ledger and do not drive it yet: a claim would find it and drive it a second time. */
  #beginning = 0;

  constructor(deps: RepricingsDeps) {
    this.#deps = deps;
  }

  /** The id of the one that is changing costs, of whatever process; null where none is. */
  get changingId(): string | null {
    const active = this.#active;
    return active !== null && active.state !== "planned" ? active.id : null;
  }

  /** Goes on with what was left behind. */
  start(): void {
    this.#watch();
    void this.#claim();
  }

  /** After the step that is under way no other begins. A step whose ledger is away may still be committed: rows say where it goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    if (this.#running !== null) await withinLimit(this.#running, CLOSE_WAIT_MS_MAX, () => undefined);
  }

  /** Fulfilled when this process has none under way. */
  async rested(): Promise<void> {
    await this.#running;
  }

  /** Begins to plan, and to apply unless it is a dry run. Throws `repricing_running`. */
  create(asked: NewRepricing): Promise<Repricing> {
    return this.#whileBeginning(() => this.#create(asked));
  }

  async #create({ isDryRun, actor, ...terms }: NewRepricing): Promise<Repricing> {
    const { store, clock, ids } = this.#deps;
    const nowUs = clock.nowUs();
    const repricing: Repricing = {
      id: ids.uuid(),
      state: "planned",
      terms: { plannedAtUs: nowUs, ...terms },
      isDryRun,
      createdAtUs: nowUs,
      figures: null,
      eventCount: 0,
      doneCount: 0,
      rowsFromUs: 0,
      changedAtUs: null,
      failure: null,
    };
    if (!(await store.create(repricing))) throw refuseSecond();
    if (!isDryRun) await this.#record("repricing.apply", repricing, actor);
    this.#drive(repricing);
    return repricing;
  }

  /** Throws `repricing_not_found`, `repricing_running` and `repricing_outdated`. */
  apply(id: string, actor: Actor): Promise<Repricing> {
    return this.#whileBeginning(() => this.#begin(id, { from: ["planned", "failed"], to: "running" }, actor));
  }

  /** Throws as `apply`. */
  revert(id: string, actor: Actor): Promise<Repricing> {
    return this.#whileBeginning(() =>
      this.#begin(id, { from: ["applied", "failed"], to: "reverting" }, actor),
    );
  }

  /** Throws `repricing_not_found`. */
  async get(id: string): Promise<Repricing> {
    const found = await this.#deps.store.find(id);
    if (found === null) throw refuseUnknown();
    return found;
  }

  list(page: Page): Promise<Paged<Repricing>> {
    return this.#deps.store.list(page);
  }

  async #whileBeginning(begin: () => Promise<Repricing>): Promise<Repricing> {
    this.#beginning += 1;
    try {
      return await begin();
    } finally {
      this.#beginning -= 1;
    }
  }

  async #begin(id: string, change: Parameters<RepricingStore["begin"]>[1], actor: Actor): Promise<Repricing> {
    const begun = await this.#deps.store.begin(id, change);
    if (begun.kind !== "begun") throw refuseBegin(begun, change);
    const { repricing } = begun;
    await this.#record(change.to === "running" ? "repricing.apply" : "repricing.revert", repricing, actor);
    this.#drive(repricing);
    return repricing;
  }

  /** Before the first cost changes. What cannot be recorded goes on all the same: it is under way by then. */
  async #record(action: AuditAction, { id: targetRef, figures }: Repricing, actor: Actor): Promise<void> {
    const change = figures === null ? null : toRepricingChange(action, figures);
    const entry = toAuditEntry(actor, { action, targetKind: "repricing", targetRef, change });
    try {
      if (entry !== null) await this.#deps.audit.record(entry);
    } catch (cause) {
      this.#deps.log.error("re-pricing: it could not be written into the audit log", describeCause(cause));
    }
  }

  #watch(): void {
    if (this.#isClosed) return;
    this.#timer ??= setInterval(() => void this.#claim(), CLAIM_INTERVAL_MS);
    this.#timer.unref();
  }

  #unwatch(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #claim(): Promise<void> {
    const isBusy = () => this.#running !== null || this.#beginning > 0 || this.#isClosed;
    if (isBusy()) return;
    try {
      const claimed = await this.#deps.store.claim();
      if (isBusy()) return;
      this.#active = claimed?.repricing ?? null;
      if (claimed?.isOwn === true) this.#drive(claimed.repricing);
      // Without other processes none becomes active that this one does not begin.
      if (claimed === null && !this.#deps.isShared) this.#unwatch();
    } catch (cause) {
      this.#deps.log.warn("re-pricing: the ledger could not be asked", describeCause(cause));
    }
  }

  #drive(repricing: Repricing): void {
    const before = this.#running;
    const running = this.#run(repricing, before).finally(() => {
      if (this.#running !== running) return;
      this.#running = null;
      this.#active = null;
      // One that this process could not end, or has lost, would refuse all others until a restart.
      this.#watch();
    });
    this.#running = running;
  }

  /** Never throws. */
  async #run(begun: Repricing, before: Promise<void> | null): Promise<void> {
    await before;
    this.#active = begun;
    try {
      const repricing = begun.state === "planned" ? await this.#plan(begun) : begun;
      if (repricing?.state === "running" || repricing?.state === "reverting") await this.#change(repricing);
    } catch (cause) {
      const described = describeCause(cause);
      this.#deps.log.error("re-pricing: it could not be ended, and is gone on with shortly", described);
    }
  }

  /** Null where it ends with the plan, or is another process's. */
  async #plan(repricing: Repricing): Promise<Repricing | null> {
    const { store, log } = this.#deps;
    let eventCount = 0;
    let figures = NO_FIGURES;
    let fromUs: InstantUs | null = null;
    let failures = 0;
    while (!this.#isClosed) {
      try {
        const step: PlannedStep = await store.plan(repricing.terms, fromUs);
        figures = addFigures(figures, step.figures);
        eventCount += step.eventCount;
        fromUs = step.untilUs;
        const isDone = fromUs === null;
        const isGoingOn = isDone && !repricing.isDryRun;
        const planned: Repricing = {
          ...repricing,
          eventCount,
          doneCount: isGoingOn ? 0 : eventCount,
          rowsFromUs: step.rowsFromUs,
          figures: isDone ? figures : null,
          state: isGoingOn ? "running" : "planned",
        };
        const isActive = !isDone || isGoingOn;
        if (!(await store.save(planned, isActive)) || !isActive) return null;
        if (isDone) {
          this.#active = planned;
          return planned;
        }
      } catch (cause) {
        failures += 1;
        log.warn("re-pricing: a part of the plan could not be made", describeCause(cause));
        if (failures === PLAN_TRIES_MAX) {
          const failure =
            cause instanceof ProxyError ? cause.message : "The ledger could not be read: try again.";
          await store.save({ ...repricing, state: "failed", failure }, false);
          return null;
        }
        await sleep(RETRY_INTERVAL_MS);
      }
    }
    return null;
  }

  /** What cannot go on is turned back, so that nothing of it is half done: an apply is taken back, and a revert applied again. */
  async #change(begun: Repricing): Promise<void> {
    const { store, clock, log } = this.#deps;
    let repricing = begun;
    let fromUs: InstantUs | null = null;
    let failures = 0;
    while (!this.#isClosed) {
      const isApplied = repricing.state === "running";
      try {
        const step: RepricingStep | null = isApplied
          ? await store.applyStep(repricing, fromUs)
          : await store.revertStep(repricing);
        if (step === null) return;
        fromUs = step.untilUs;
        if (fromUs === null) {
          const found = isApplied ? await this.#findBeyond(repricing) : await this.#findGone(repricing);
          const isTakenBack = !isApplied && repricing.failure !== null;
          const state = isApplied ? "applied" : isTakenBack ? "failed" : "reverted";
          const changedAtUs = isTakenBack ? null : clock.nowUs();
          const doneCount = isApplied ? repricing.eventCount : 0;
          return await this.#end({ ...repricing, ...found, state, changedAtUs, doneCount });
        }
        failures = 0;
        await this.#renew();
      } catch (cause) {
        log.warn("re-pricing: a step failed and is made again", describeCause(cause));
        await sleep(RETRY_INTERVAL_MS);
        // Answered once the ledger can be written again: a database that is away is no reason to give up.
        const claimed = await store.claim();
        if (claimed?.isOwn !== true || claimed.repricing.id !== repricing.id) return;
        failures += 1;
        if (failures < STEP_TRIES_MAX) continue;
        const doneCount = (await store.sumApplied(repricing.id).catch(() => null))?.requests ?? 0;
        if (repricing.failure !== null) {
          const changedAtUs = clock.nowUs();
          const half = { failure: FAILURES.half, doneCount, changedAtUs };
          return await this.#end({ ...repricing, state: "failed", ...half });
        }
        repricing = isApplied
          ? { ...repricing, state: "reverting", failure: FAILURES.apply, doneCount }
          : { ...repricing, state: "running", failure: FAILURES.revert, doneCount: 0 };
        if (!(await store.save(repricing, true))) return;
        this.#active = repricing;
        fromUs = null;
        failures = 0;
      }
    }
  }

  async #end(ended: Repricing): Promise<void> {
    const { store, log } = this.#deps;
    await store.save(ended, false);
    const { id, state } = ended;
    if (state === "failed") log.error("re-pricing: it was given up", { id });
    else log.info("re-pricing: done", { id, state });
    await this.#tellDone();
  }

  async #findBeyond({ id, figures }: Repricing): Promise<Pick<Repricing, "beyondPlan">> {
    const beyondPlan = toBeyondPlan(figures ?? NO_FIGURES, await this.#deps.store.sumApplied(id));
    return beyondPlan === undefined ? {} : { beyondPlan };
  }

  async #findGone({ id }: Repricing): Promise<Pick<Repricing, "goneCount">> {
    const left = await this.#deps.store.find(id);
    return left === null ? {} : { goneCount: left.doneCount };
  }

  async #tellDone(): Promise<void> {
    try {
      await this.#deps.onCosts("done");
    } catch (cause) {
      // The next request that they concern has them added up.
      this.#deps.log.warn("re-pricing: limits could not be added up yet", describeCause(cause));
    }
  }

  async #renew(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#renewedMs < RENEW_INTERVAL_MS) return;
    this.#renewedMs = nowMs;
    await this.#deps.onCosts("going");
  }
}

/** Why one ended otherwise than it was to. */
const FAILURES = {
  apply:
    "A part of it could not be written, and what was applied was taken back: the server's log says why. Apply it again once that is mended.",
  revert:
    "It could not be taken back, and is applied as before: the server's log says why. Take it back again once that is mended.",
  half: "A part of its requests keeps the new cost, and a part the former one: take it back, or apply it, once what the server's log tells is mended.",
} as const;

/** The changes that were planned; one that is taken back leads the other way. */
function toRepricingChange(action: AuditAction, figures: RepricingFigures): AuditChange {
  const { requests, costBeforePico, costAfterPico, unpricedBefore, unpricedAfter } = figures;
  const was = { cost: picoToNumber(costBeforePico), unpriced_requests: unpricedBefore };
  const is = { cost: picoToNumber(costAfterPico), unpriced_requests: unpricedAfter };
  return action === "repricing.apply"
    ? toAuditChange(null, was, { ...is, requests })
    : toAuditChange(null, is, { ...was, requests });
}

function refuseBegin(
  outcome: Exclude<BeginOutcome, { readonly kind: "begun" }>,
  { to }: Parameters<RepricingStore["begin"]>[1],
): ProxyError {
  if (outcome.kind === "absent") return refuseUnknown();
  if (outcome.kind === "running") return refuseSecond();
  return new ProxyError("repricing_outdated", tellOutdated(outcome, to === "running"));
}

function tellOutdated(
  outcome: Extract<BeginOutcome, { readonly kind: "state" | "overlap" }>,
  isApplied: boolean,
): string {
  if (outcome.kind === "overlap")
    return `The re-pricing ${outcome.id} has changed requests of the same time since: ${isApplied ? "plan this one again" : "revert that one first"}.`;
  const wanted = isApplied
    ? "is planned, or could not be applied, can be applied"
    : "is applied, or could not be taken back, can be reverted";
  return `This re-pricing is ${outcome.state}: only one that ${wanted}.`;
}

function refuseSecond(): ProxyError {
  return new ProxyError(
    "repricing_running",
    "Another re-pricing is under way: GET /admin/v1/repricing tells how far it is.",
  );
}

function refuseUnknown(): ProxyError {
  return new ProxyError("repricing_not_found", "No re-pricing has this id.");
}
