import { describe, expect, test } from "vitest";
import { ahead, change, dayOf, dayStart, instantOf, instants, known, local, next, said, same } from "../src/lib/zones";

// Points 25 of the brief: both days of three zones, one of them with half an hour.
describe.each([
  ["Europe/Berlin", "2027-03-28", 23, "forward from 02:00 to 03:00", "2027-03-28T01:00:00.000Z"],
  ["Europe/Berlin", "2027-10-31", 25, "back from 03:00 to 02:00", "2027-10-31T01:00:00.000Z"],
  ["America/New_York", "2027-03-14", 23, "forward from 02:00 to 03:00", "2027-03-14T07:00:00.000Z"],
  ["America/New_York", "2027-11-07", 25, "back from 02:00 to 01:00", "2027-11-07T06:00:00.000Z"],
  ["Australia/Lord_Howe", "2027-10-03", 23.5, "forward from 02:00 to 02:30", "2027-10-02T15:30:00.000Z"],
  ["Australia/Lord_Howe", "2027-04-04", 24.5, "back from 02:00 to 01:30", "2027-04-03T15:00:00.000Z"],
])("%s on %s", (zone, day, hours, words, at) => {
  test(`has ${hours} hours, and clocks go ${words}`, () => {
    const found = dayOf(day, zone);
    expect(found.hours).toBe(hours);
    expect(found.change && said(found.change)).toBe(`clocks go ${words}`);
    expect(new Date(found.change?.at ?? 0).toISOString()).toBe(at);
  });

  test("is the only day around it on which they change", () => {
    expect(dayOf(next(day), zone)).toEqual({ hours: 24, change: undefined });
  });
});

describe("a local time", () => {
  test("that does not exist is no instant, and stands for the first one after it", () => {
    expect(instants("2027-03-28T02:30", "Europe/Berlin")).toEqual([]);
    expect(instantOf("2027-03-28T02:30", "Europe/Berlin")).toBe(Date.parse("2027-03-28T01:00:00Z"));
  });

  test("that comes twice is two instants, and stands for the first", () => {
    const both = instants("2027-10-31T02:30", "Europe/Berlin");
    expect(both.map((at) => new Date(at).toISOString())).toEqual(["2027-10-31T00:30:00.000Z", "2027-10-31T01:30:00.000Z"]);
    expect(instantOf("2027-10-31T02:30", "Europe/Berlin")).toBe(both[0]);
  });

  test("goes there and back", () => {
    for (const zone of ["Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "UTC"]) {
      const at = Date.parse("2027-07-01T12:34:56Z");
      expect(instantOf(local(at, zone), zone)).toBe(at);
    }
  });

  test("that is none is refused", () => {
    expect(instantOf("tomorrow", "UTC")).toBeUndefined();
  });
});

test("a day may begin after midnight, where clocks change then", () => {
  // In Santiago they go forward at midnight.
  const start = dayStart("2027-09-05", "America/Santiago");
  expect(local(start, "America/Santiago")).toBe("2027-09-05T01:00:00");
  expect(dayOf("2027-09-05", "America/Santiago").hours).toBe(23);
});

test("zones are known by any of their names", () => {
  expect(known("Europe/Berlin")).toBe(true);
  expect(known("Nowhere/Land")).toBe(false);
  expect(same("Asia/Kolkata", "Asia/Calcutta")).toBe(true);
  expect(same("UTC", "Europe/Berlin")).toBe(false);
  expect(change(0, 86_400_000, "UTC")).toBeUndefined();
});

test("offsets are written with their sign", () => {
  expect([ahead(0), ahead(-12_600_000), ahead(37_800_000)]).toEqual(["+00:00", "−03:30", "+10:30"]);
});
