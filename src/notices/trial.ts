import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { toNotice } from "./notice.ts";
import type { NoticeTarget } from "./post.ts";

/** What came of a notice that was sent to try it. */
interface NoticeTrialResult {
  readonly id: string;
  readonly isDelivered: boolean;
  /** Null when nothing answered. */
  readonly status: number | null;
  /** Why nothing answered. */
  readonly reason: string | null;
}

export interface NoticeTrial {
  /** Sends one notice, once, now. Throws `notices_not_configured`. */
  run(): Promise<NoticeTrialResult>;
}

interface NoticeTrialDeps {
  /** Null: there is no receiver. */
  readonly target: NoticeTarget | null;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createNoticeTrial({ target, clock, ids }: NoticeTrialDeps): NoticeTrial {
  return {
    async run() {
      if (target === null)
        throw new ProxyError(
          "notices_not_configured",
          "No notices are sent: set PROXY_NOTICE_URL to the URL of a webhook.",
        );
      // Loaded here and not above: most servers send none.
      const { createNoticePost, isDelivered } = await import("./post.ts");
      const draft = { type: "notice.test", text: "This is a test notice of Lockport.", facts: {} } as const;
      const id = ids.uuid();
      const notice = toNotice(draft, id, clock.nowUs());
      const outcome = await createNoticePost(target)(notice, new AbortController().signal);
      return outcome.kind === "answered"
        ? { id, isDelivered: isDelivered(outcome), status: outcome.status, reason: null }
        : { id, isDelivered: false, status: null, reason: outcome.reason };
    },
  };
}
