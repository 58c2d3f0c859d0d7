import { findOverflow } from "./overflow.ts";
import { IN_PAGE_NAME, type InPage } from "./shapes.ts";
import { settle, stillness } from "./stillness.ts";
import { beginTabWalk, endTabWalk, stepTabWalk } from "./tab-walk.ts";
import { watchViolations } from "./violations.ts";
import { watchVitals } from "./vitals.ts";

watchViolations();
const inPage: InPage = {
  settle,
  stillness,
  findOverflow,
  readVitals: watchVitals(),
  beginTabWalk,
  stepTabWalk,
  endTabWalk,
};
Object.defineProperty(globalThis, IN_PAGE_NAME, { value: inPage });
