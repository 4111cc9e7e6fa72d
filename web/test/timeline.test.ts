import { describe, expect, test } from "vitest";
import { spans, type Lived } from "../src/lib/timeline";

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
const task = (more: Partial<Lived>): Lived => ({
  created_at: at(0), run_at: at(0), started_at: null, finished_at: null, state: "ready", attempt: 0,
  errors: [], ...more,
});
const drawn = (lived: Lived, now: number): string[] =>
  spans(lived, now * 1000).map(
    (span) => `${span.doing} ${span.from / 1000}-${span.to / 1000}${span.end ? ` ${span.end}` : ""}`,
  );

describe("a task's life", () => {
  test("waits until it is due, then for its turn", () => {
    const lived = task({ run_at: at(100) });
    expect(drawn(lived, 40)).toEqual(["not-due 0-40"]);
    expect(drawn(lived, 130)).toEqual(["not-due 0-100", "waiting 100-130"]);
  });
  test("runs from its start, and ends", () => {
    const lived = task({ started_at: at(5), state: "running", attempt: 1 });
    expect(drawn(lived, 9)).toEqual(["waiting 0-5", "running 5-9"]);
    expect(drawn({ ...lived, finished_at: at(8), state: "completed" }, 90)).toEqual([
      "waiting 0-5",
      "running 5-8 completed",
    ]);
  });
  test("shows what failed before", () => {
    const lived = task({
      started_at: at(20), state: "running", attempt: 2, run_at: at(15),
      errors: [{ at: at(10), attempt: 1, type: "Timeout" }],
    });
    expect(drawn(lived, 25)).toEqual(["retry-wait 0-10 failed", "waiting 10-20", "running 20-25"]);
  });
  test("waits for another attempt", () => {
    const lived = task({
      started_at: at(5), state: "scheduled", attempt: 1, run_at: at(60),
      errors: [{ at: at(10), attempt: 1, type: "Timeout" }],
    });
    expect(drawn(lived, 30)).toEqual(["waiting 0-5", "running 5-10 failed", "retry-wait 10-30"]);
  });
});
