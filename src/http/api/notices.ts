import { Type } from "@sinclair/typebox";
import { json, route } from "#http/door/route.ts";
import { ID } from "#http/schemas/examples.ts";
import { Id, nullable, oneOf, view } from "#http/schemas/shared.ts";
import type { NoticeTrial } from "#notices/trial.ts";

const NOTICE_TEST = "notice.test";

const NoticeTest = view("NoticeTest", {
  id: Id,
  type: oneOf([NOTICE_TEST]),
  delivered: Type.Boolean({ description: "Whether the webhook answered with a status of 2xx." }),
  status: nullable(Type.Integer()),
  reason: nullable(
    Type.String({ description: "Why nothing answered: `timeout`, or a code such as `ECONNREFUSED`." }),
  ),
});

/** Notices (`docs/spec/limits.md`). */
export function noticeRoutes(notices: NoticeTrial) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/notices/test",
      tag: "Operation",
      access: "admin",
      summary: "Send a test notice, and say what came back",
      description:
        "It is sent once, at once, to the webhook of `PROXY_NOTICE_URL`, whatever else waits. A redirect is not followed.",
      answer: json(200, NoticeTest, {
        id: ID.notice,
        type: "notice.test",
        delivered: true,
        status: 200,
        reason: null,
      }),
      errors: ["notices_not_configured"],
      run: async () => {
        const { id, isDelivered, status, reason } = await notices.run();
        return { id, type: NOTICE_TEST, delivered: isDelivered, status, reason };
      },
    }),
  ] as const;
}
