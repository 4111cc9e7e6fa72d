import { describe, expect, test } from "vitest";
import { FIGURES, read, span, valueOf, written } from "../src/lib/figures";

describe("figures", () => {
  test("there are seven", () => {
    expect(Object.keys(FIGURES)).toHaveLength(7);
  });
  test.each([
    ["error_rate", 0.07, "7.0 %"],
    ["oldest_age", 372, "6 min 12 s"],
    ["dead_letters", 118, "118"],
    ["run_p99", null, "–"],
  ])("%s of %s", (figure, value, text) => {
    expect(valueOf(figure, value)).toBe(text);
  });
  test("parts of one are written in percent, there and back", () => {
    for (const percent of [0.5, 7, 29, 57, 90, 99.9]) {
      expect(written("error_rate", read("error_rate", percent))).toBe(percent);
    }
    expect(read("error_rate", 7)).toBe(0.07);
    expect(read("queue_depth", 7)).toBe(7);
  });
  test.each([[0, "0s"], [60, "1m"], [90, "90s"], [7200, "2h"], [172_800, "2d"], [0.5, "0.5s"]])("%s s are %s", (seconds, text) => {
    expect(span(seconds)).toBe(text);
  });
});
