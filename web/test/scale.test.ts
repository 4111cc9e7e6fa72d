import { describe, expect, test } from "vitest";
import { FOLDED, Scale, ticks, tickText } from "../src/lib/scale";

describe("a timeline to scale", () => {
  test("projects and finds back", () => {
    const scale = new Scale([{ from: 0, to: 1000, idle: false }], 500);
    expect(scale.project(250)).toBe(125);
    expect(scale.unproject(125)).toBe(250);
    expect([scale.project(-5), scale.project(2000)]).toEqual([0, 500]);
  });
  test("folds only what is idle and longer than half of it", () => {
    const scale = new Scale(
      [
        { from: 0, to: 9000, idle: true },
        { from: 9000, to: 10_000, idle: false },
      ],
      1000,
    );
    expect(scale.placed[0]).toMatchObject({ folded: true, width: FOLDED });
    expect(scale.project(9500)).toBe(FOLDED + (1000 - FOLDED) / 2);
  });
  test("has round ticks, not too many", () => {
    expect(ticks(500, 10_400, 5)).toEqual([5000, 10_000]);
  });
  test("has texts as fine as the stretch is short", () => {
    const at = new Date(2026, 2, 9, 7, 5, 3, 250).getTime();
    const over = (seconds: number): string => tickText(at, at, at + seconds * 1000);
    expect([0.05, 0.5, 5, 60, 7200, 864_000].map(over)).toEqual([
      "07:05:03.250", "07:05:03.25", "07:05:03.2", "07:05:03", "07:05", "9 Mar",
    ]);
  });
});
