import { expect, test } from "vitest";
import { amounts, sharesOfAll, sharesOfOne, type Got, type Step } from "../src/lib/sharing";

const STRETCH = { from: 60_000, to: 240_000, step: 60 };
type Part = readonly [tenant: string, completed: number, ran_s: number];

/** A step at a minute, shared out as the server does it. */
function step(minute: number, parts: readonly Part[], others: readonly [number, number] = [0, 0]): Step {
  const completed = parts.reduce((all, [, tasks]) => all + tasks, others[0]);
  const ran_s = parts.reduce((all, [, , ran]) => all + ran, others[1]);
  const tenants = parts.map(([tenant, tasks, ran]): Got => ({
    tenant, completed: tasks, ran_s: ran, share: tasks / completed, time_share: ran_s === 0 ? null : ran / ran_s, due: 1 / parts.length,
  }));
  return { at: new Date(minute * 60_000).toISOString(), completed, ran_s, tenants };
}

const STEPS = [step(1, [["board", 3, 1], ["", 1, 3]]), step(3, [["board", 4, 2]])];

test("a step in which nothing ended is a gap, and who got nothing in another got 0", () => {
  expect(sharesOfAll(STEPS, STRETCH, "tasks")).toEqual({
    times: [60, 120, 180, 240],
    parts: [
      { tenant: "board", values: [0.75, null, 1, null] },
      { tenant: "", values: [0.25, null, 0, null] },
    ],
  });
});

test("by time others come first", () => {
  expect(sharesOfAll([STEPS[0]!], STRETCH, "time").parts.map((part) => [part.tenant, part.values[0]])).toEqual([
    ["", 0.75],
    ["board", 0.25],
  ]);
});

test("the rest is all that is not told apart", () => {
  const found = sharesOfAll([step(1, [["a", 2, 1], ["b", 2, 1]], [4, 2]), step(2, [], [7, 1])], STRETCH, "tasks");
  expect(found.parts.map((part) => part.tenant)).toEqual(["a", "b", undefined]);
  expect(found.parts[2]?.values).toEqual([0.5, 1, null, null]);
  expect(found.parts[0]?.values).toEqual([0.25, 0, null, null]);
});

test("the last digits of times are nobody's part", () => {
  const found = sharesOfAll([step(1, [["a", 1, 0.1], ["b", 1, 0.2], ["c", 1, 0.3]])], STRETCH, "time");
  expect(found.parts).toHaveLength(3);
});

test("five are told apart, however many are there", () => {
  const all = ["a", "b", "c", "d", "e", "f", "g"].map((name, n): Part => [name, 10 - n, 1]);
  const found = sharesOfAll([step(1, all)], STRETCH, "tasks");
  expect(found.parts.map((part) => part.tenant)).toEqual(["a", "b", "c", "d", "e", undefined]);
  expect(found.parts[5]?.values[0]).toBeCloseTo((5 + 4) / 49);
});

test("what ran for no time at all has no part by time", () => {
  expect(sharesOfAll([step(1, [["a", 3, 0]])], STRETCH, "time").parts[0]?.values).toEqual([null, null, null, null]);
});

test("one tenant beside what it was due", () => {
  expect(sharesOfOne(STEPS, "", STRETCH, "tasks")).toEqual({
    times: [60, 120, 180, 240],
    got: [0.25, null, 0, null],
    due: [0.5, null, null, null],
  });
});

test("a key that is bound to a tenant has its own counts, and no part", () => {
  const own: Step = {
    at: new Date(60_000).toISOString(), completed: null, ran_s: null,
    tenants: [{ tenant: "board", completed: 3, ran_s: 1.5, share: null, time_share: null, due: null }],
  };
  expect(amounts([own], "board", STRETCH, "tasks").values).toEqual([3, 0, 0, 0]);
  expect(amounts([own], "board", STRETCH, "time").values).toEqual([1.5, 0, 0, 0]);
  expect(sharesOfOne([own], "board", STRETCH, "tasks").got).toEqual([null, null, null, null]);
});

test("nothing at all is no line at all", () => {
  expect(sharesOfAll([], STRETCH, "tasks").parts).toEqual([]);
});
