import { describe, expect, test } from "vitest";
import { changes, pageOf } from "../src/lib/audit";

describe("what an entry is about", () => {
  test.each([
    ["task.cancel", "01J9", "/tasks/01J9"],
    ["queue.pause", "a b/c", "/queues/a%20b%2Fc"],
    ["action.stop", "01OP", "/operations/01OP"],
    ["alert_rule.update", "queue_depth", "/access/alerts?rule=queue_depth"],
    ["login.create", "k1", undefined],
    ["action.start", '{"queue":"sms"}', undefined],
    ["task.submit", null, undefined],
    ["toString.x", "y", undefined],
  ])("%s of %s", (action, target, page) => {
    expect(pageOf(action, target)).toBe(page);
  });
});

describe("what was changed", () => {
  test("a pair is before and after", () => {
    expect(changes("task.update", { priority: [5, 0], queue: [null, "sms"] })).toEqual([
      { name: "priority", before: "5", after: "0" },
      { name: "queue", before: "none", after: "sms" },
    ]);
  });
  test("what was made has no before, even if it is a list of two", () => {
    expect(changes("key.create", { roles: ["read", "submit"] })).toEqual([
      { name: "roles", before: undefined, after: '["read","submit"]' },
    ]);
  });
  test("of something new only what was said is told", () => {
    expect(changes("session.open", { name: "", slots: 8, queues: ["sms", "reports"], code: null })).toEqual([
      { name: "slots", before: undefined, after: "8" },
      { name: "queues", before: undefined, after: '["sms","reports"]' },
    ]);
    expect(changes("queue.update", { cap: [8, null] })).toEqual([{ name: "cap", before: "8", after: "none" }]);
  });
  test("nothing is nothing", () => {
    expect(changes("task.update", null)).toEqual([]);
  });
});
