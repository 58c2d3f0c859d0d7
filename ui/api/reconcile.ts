import type { AnswerOf, BodyOf } from "#http/client.ts";
import { call } from "./client.ts";

export type ReconcileWish = BodyOf<"POST /admin/v1/reconcile">;
export type Reconciliation = AnswerOf<"POST /admin/v1/reconcile">;
export type ReconciledLine = Reconciliation["lines"][number];

/** Holds files against what was recorded. They go to the server and stay nowhere. */
export async function reconcile(wish: ReconcileWish): Promise<Reconciliation> {
  return await call("POST /admin/v1/reconcile", { body: wish });
}
