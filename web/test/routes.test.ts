import { expect, test } from "vitest";
import { match, to } from "../src/url/routes";

test.each([
  ["/", "overview", {}],
  ["/tasks/0193", "task", { id: "0193" }],
  ["/queues/mail%2Fx", "queue", { queue: "mail/x" }],
  ["/schedules/new", "schedule-edit", {}],
  ["/schedules/new/edit", "schedule-edit", { id: "new" }],
  ["/tasks/%E0", "missing", {}],
  ["/nowhere", "missing", {}],
])("%s is the page %s", (path, page, values) => expect(match(path)).toEqual({ page, values }));

test("parameters that are not set are left out, an empty one is not", () => {
  expect(to("/tasks", { tenant: "", queue: undefined, kind: "a b" })).toBe("/tasks?tenant=&kind=a+b");
});
