import { expect, test } from "vitest";
import { counted, late, lease, meant, queueOf, standing, type Session } from "../src/pages/workers/sessions";

const AT = Date.parse("2026-11-30T10:00:00Z");
const worker = (about: Partial<Session> = {}): Session => ({
  id: "01a22f43", name: "w-eu-3", host: "eu-3", pid: 7, version: "1.4.0", queues: ["sms=50", "reports"], kinds: [],
  slots: 50, held: 0, started_at: "2026-11-30T09:00:00Z", lease_until: "2026-11-30T10:00:28Z", heartbeat_age_s: 2,
  draining: false, closed_at: null, live: true, ...about,
});
const over = { live: false, lease_until: "2026-11-30T09:59:00Z" };

test.each([
  [{}, "live"],
  [{ draining: true }, "draining"],
  [over, "lost"],
  [{ ...over, closed_at: "2026-11-30T09:59:05Z" }, "lost"],
  [{ ...over, closed_at: "2026-11-30T09:58:50Z" }, "ended"],
] as const)("a worker with %o is %s", (about, expected) => {
  expect(standing(worker(about))).toBe(expected);
});

test("a lease is as long as from the heartbeat to its end, and late from two thirds of it on", () => {
  expect(lease(worker(), AT)).toBe(30);
  expect(lease(worker({ heartbeat_age_s: 4, lease_until: "2026-11-30T10:00:06Z" }), AT)).toBe(10);
  expect(late(worker({ heartbeat_age_s: 7, lease_until: "2026-11-30T10:00:03Z" }), AT)).toBe(true);
  expect(late(worker({ heartbeat_age_s: 19, lease_until: "2026-11-30T10:00:11Z" }), AT)).toBe(false);
  expect(late(worker({ ...over, heartbeat_age_s: 90 }), AT)).toBe(false);
});

test.each([
  [{ q: " EU-3 " }, true],
  [{ q: "w-us" }, false],
  [{ queue: "sms" }, true],
  [{ queue: "sm" }, false],
  [{ version: "1.4.0", queue: "reports" }, true],
  [{ version: "1.3.9" }, false],
])("which workers %o means", (wanted, expected) => {
  expect(meant(worker(), wanted)).toBe(expected);
});

test.each([["sms=50", "sms"], ["sms", "sms"], ["*", undefined], ["<img src=x>", undefined], ["", undefined]])(
  "the word %s names the queue %s",
  (word, queue) => expect(queueOf(word)).toBe(queue),
);

test("what there is of each is counted", () => {
  expect(counted([])).toBe("0 live");
  expect(counted([worker(), worker(), worker({ draining: true }), worker(over)])).toBe("2 live · 1 draining · 1 lost");
});
