import { ProxyError } from "#kernel/errors.ts";

/** Newest first, oldest first, or the largest first: what has no cost comes last, and of equals the newest first. */
export const LOG_ORDERS = ["newest", "oldest", "cost", "duration"] as const;
export type LogOrder = (typeof LOG_ORDERS)[number];

/** The query parameter `order` of the request log; newest first when absent or empty. Throws `invalid_request`. */
export function parseLogOrder(query: URLSearchParams): LogOrder {
  const text = query.get("order") || "newest";
  const order = LOG_ORDERS.find((known) => known === text);
  if (order === undefined) {
    throw new ProxyError("invalid_request", `order must be one of ${LOG_ORDERS.join(", ")}.`, {
      param: "order",
    });
  }
  return order;
}
