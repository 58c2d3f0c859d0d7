import { STATUS_CANCELLED } from "#usage/event.ts";

const IS_SUCCESS = "status_code >= 200 AND status_code < 300";

/** `isUnmetered` in SQL over `result`; the usage is missing where the combination `IS_UNTOLD`. */
export const UNMETERED_RESULT = `outcome = 'ok' AND ${IS_SUCCESS}
  OR outcome = 'cancelled' AND (${IS_SUCCESS} OR status_code = ${STATUS_CANCELLED})`;

/** True for a combination whose usage is still to come. */
export const IS_PENDING = "coalesce(shape, '') = 'pending'";

/** True for a combination without a usage, or with only its beginning. */
export const IS_UNTOLD = "coalesce(shape, 'begun') = 'begun'";
