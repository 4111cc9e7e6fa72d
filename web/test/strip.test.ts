import { expect, test } from "vitest";
import { bars, said, shape, spoken, type Decided } from "../src/lib/strip";

const run = (given: Partial<Decided> = {}): Decided => ({
  slot: "2027-03-28T01:00:00.000000Z", last: null, count: 1, state: "fired", task: "t-1", backfilled: false,
  task_state: "completed", attempt: 1, late_s: 0.1, ran_s: 2.5, ...given,
});

test.each([
  [{}, "completed"],
  [{ late_s: 60 }, "late"],
  [{ late_s: 59.9 }, "completed"],
  [{ task_state: "failed", late_s: 900 }, "failed"],
  [{ task_state: "cancelled" }, "cancelled"],
  [{ task_state: "running" }, "running"],
  [{ task_state: "ready" }, "waiting"],
  [{ task_state: "scheduled" }, "waiting"],
  [{ task_state: null }, "gone"],
  [{ state: "skipped:gap", task: null, task_state: null }, "skipped"],
] as const)("%o is %s", (given, wanted) => {
  expect(shape(run(given), 60)).toBe(wanted);
});

test("what became of a slot is said, with the reason where there is no run", () => {
  expect(said(run({ late_s: 70, attempt: 3 }))).toBe("completed, 1 min 10 s late, ran 2.5 s, 3 attempts");
  expect(said(run({ state: "skipped:overlap", task: null }))).toBe("left out: an earlier run was not over");
  expect(said(run({ state: "skipped:missed", count: 1200, task: null }))).toBe("1,200 slots, missed: nothing fired it in time");
  expect(said(run({ state: "skipped:missed", count: null, task: null }))).toMatch(/^more slots than are counted/);
  expect(said(run({ task_state: null, ran_s: null }))).toBe("its task is kept no more");
});

test("bars go from old to new, thirty at most, each with its slot in the zone and in UTC", () => {
  const runs = Array.from({ length: 40 }, (_, n) => run({ slot: new Date(Date.UTC(2027, 2, 28, 1) - n * 86_400_000).toISOString() }));
  const all = bars(runs, "Europe/Berlin", 60);
  expect(all.length).toBe(30);
  expect(all.at(-1)?.title).toBe("28 Mar 2027, 03:00:00 UTC+02:00 · 2027-03-28T01:00:00.000Z: completed, ran 2.5 s");
  expect(spoken(all)).toBe("last 30 runs: 30 completed");
  expect(spoken([])).toBe("no runs yet");
});
