import { expect, test } from "vitest";
import { series, span, stepOf, type Point } from "../src/lib/series";

const point = (at: number, more: Partial<Point> = {}): Point => ({
  at: new Date(at * 1000).toISOString(), queue: null, submitted: 0, completed: 0, failed: 0, cancelled: 0,
  lateness: { p50_s: null, p99_s: null }, ...more,
});

test("every step has a value, and the one that is not over counts what has passed of it", () => {
  const drawn = series([point(60, { submitted: 120 }), point(120, { submitted: 30 })], 0, 150_000, 60);
  expect(drawn.times).toEqual([0, 60, 120]);
  expect(drawn.arriving).toEqual([0, 2, 1]);
});

test("an address shows a range, or fixed instants", () => {
  expect(span(new URLSearchParams("range=15m"), 1_000_000)).toEqual({ from: 100_000, to: 1_000_000, fixed: false });
  const fixed = new URLSearchParams("from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z");
  expect(span(fixed, 0).fixed).toBe(true);
  expect(span(new URLSearchParams("from=x&to=y"), 3_600_000).from).toBe(0);
});

test("steps are whole minutes, and no more than fit", () => {
  expect(stepOf(0, 3_600_000)).toBe(60);
  expect(stepOf(0, 86_400_000)).toBe(600);
});
