import { expect, test } from "vitest";
import { capSentence, classesSentence, depthSentence, due, rateSentence, refilled, weightSentence } from "../src/lib/shares";

const OTHERS = [{ name: "college", weight: 1 }, { name: "", weight: 1 }];

test("shares are due by weight", () => {
  expect(due(3, OTHERS)).toBe(0.6);
  expect(due(1, [])).toBe(1);
});

test("the effect of a weight is said in a sentence", () => {
  expect(weightSentence(3, OTHERS)).toBe("Weight 3 of 5: 60 % of each queue where all 3 wait.");
  expect(weightSentence(3, [])).toContain("nobody else");
});

test.each([
  ["half a second later", 500, 2.5],
  ["capped at the burst", 60_000, 10],
  ["a clock that is behind takes nothing away", -5000, 1],
])("tokens are refilled: %s", (_, later, tokens) => {
  expect(refilled(1, 3, 10, 1000, 1000 + later)).toBe(tokens);
});

test.each([
  [150, 180, "180 run now. None is stopped; new ones wait until at most 149 run."],
  [1, 2, "2 run now. None is stopped; new ones wait until none of them runs."],
  [200, 180, "180 of 200 would be in use now."],
  [null, 3, "No bound: as many run as there are slots."],
])("a cap of %s while %s run", (cap, running, sentence) => {
  expect(capSentence(cap, running)).toBe(sentence);
});

test("a rate is said by the minute, a slow one by the hour", () => {
  expect(rateSentence(5)).toBe("At most 5 a second start: 300 a minute.");
  expect(rateSentence(0.01)).toContain("36 an hour");
});

test("a depth turns away the lower classes first, and nothing that waits", () => {
  expect(depthSentence(11, 12)).toBe(
    "Low tasks are refused from 11 that wait on, normal from 17, high from 22; critical never. 12 wait now, and are kept.",
  );
  expect(depthSentence(10, 2, "defer")).toContain("Low tasks are put off from 10");
});

test("what each class gets", () => {
  expect(classesSentence({ critical: 50, high: 30, normal: 15, low: 5 })).toBe(
    "When all classes wait: critical 50 %, high 30 %, normal 15 %, low 5.0 %.",
  );
});
