import { describe, expect, test } from "vitest";
import { count, cut, distance, duration, moment, percent, rate, visible } from "../src/lib/format";

describe("numbers", () => {
  test.each([
    [0, "0"],
    [99_999, "99,999"],
    [100_000, "100 k"],
    [1_236_000, "1.24 M"],
  ])("%d is %s", (value, text) => expect(count(value)).toBe(text));
  test.each([
    [0, "0 %"],
    [0.0004, "<0.1 %"],
    [0.003, "0.3 %"],
    [0.95, "95 %"],
  ])("%d of one is %s", (value, text) => expect(percent(value)).toBe(text));
  test.each([
    [0, "0"],
    [0.004, "<0.01"],
    [3.25, "3.25"],
    [118.4, "118"],
  ])("%d a second is %s", (value, text) => expect(rate(value)).toBe(text));
});

describe("durations have two units at most and are never negative", () => {
  test.each([
    [-5, "0 s"],
    [0.85, "850 ms"],
    [0.9997, "1.0 s"],
    [4.2, "4.2 s"],
    [59.97, "1 min"],
    [185, "3 min 05 s"],
    [8040, "2 h 14 min"],
    [273_600, "3 d 04 h"],
  ])("%d s is %s", (value, text) => expect(duration(value)).toBe(text));
});

describe("instants", () => {
  const now = Date.parse("2026-11-30T10:04:31Z");
  test.each([
    ["2026-11-30T09:04:31Z", "09:04:31"],
    ["2026-11-03T10:04:00Z", "3 Nov 10:04"],
    ["2025-11-03T10:04:00Z", "3 Nov 2025 10:04"],
  ])("%s is %s", (at, text) => expect(moment(Date.parse(at), now, "UTC")).toBe(text));
  test("fine ones have milliseconds", () => {
    expect(moment(Date.parse("2026-11-30T09:04:31.007Z"), now, "UTC", true)).toBe("09:04:31.007");
    expect(moment(Date.parse("2026-11-03T09:04:31.1Z"), now, "UTC", true)).toBe("3 Nov 09:04:31.100");
  });
  test("how far away they are", () => {
    expect(distance(now + 14_000, now)).toBe("in 14 s");
    expect(distance(now - 185_000, now)).toBe("3 min 05 s ago");
  });
});

test("long names keep both ends, and hidden characters can be seen", () => {
  expect(cut("a".repeat(40) + "b".repeat(40), 11)).toBe("aaaaa…bbbbb");
  expect(visible("a\u202eb\u0000")).toBe("a\\u202eb\\u0000");
});
