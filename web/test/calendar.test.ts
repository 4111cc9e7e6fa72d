import { expect, test } from "vitest";
import { leftOut, own, surprises } from "../src/pages/schedules/coming";
import { byDay, isMonth, monthName, offsetOf, shifted, timeOf, weeks } from "../src/lib/calendar";

const firing = (utc: string, local: string) => ({ utc, local, notes: [] });

test("a month is whole weeks from Monday on", () => {
  const march = weeks("2027-03");
  expect(march.map((week) => week.length)).toEqual([7, 7, 7, 7, 7]);
  expect(march[0]?.map((day) => day.number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(march[4]?.map((day) => day.inside)).toEqual([true, true, true, false, false, false, false]);
  expect(weeks("2027-08")[0]?.[0]?.key).toBe("2027-07-26");
  expect(weeks("2027-02").length).toBe(4);
});

test("months follow each other over the year's end", () => {
  expect([shifted("2027-12", 1), shifted("2027-01", -1), shifted("2027-03", 24)]).toEqual(["2028-01", "2026-12", "2029-03"]);
  expect([isMonth("2027-13"), isMonth("2027-1"), isMonth(undefined), isMonth("2027-10")]).toEqual([false, false, false, true]);
  expect(monthName("2027-03")).toBe("March 2027");
});

test("a firing lies on its day in the zone, which may be another one in UTC", () => {
  const late = firing("2027-03-27T23:30:00Z", "2027-03-28T00:30:00+01:00");
  expect([...byDay([late], "local").keys()]).toEqual(["2027-03-28"]);
  expect([...byDay([late, late], "utc")]).toEqual([["2027-03-27", [late, late]]]);
  expect([timeOf(late, "local"), timeOf(late, "utc"), offsetOf(late)]).toEqual(["00:30", "23:30", "+01:00"]);
  expect(timeOf(firing("2027-03-27T23:30:05.250000Z", "2027-03-28T00:30:05.250000+01:00"), "utc")).toBe("23:30:05");
});

test("a local time that is left out in a gap lies on its own day, not on that of the firing that tells", () => {
  const note = "2027-03-28 02:30 does not exist: the clocks go forward from 02:00 to 03:00; it is skipped";
  const next = { utc: "2027-03-29T00:30:00Z", local: "2027-03-29T02:30:00+02:00", notes: [note, "jitter: starts 5s later, at …"] };
  expect([...leftOut([next])]).toEqual([["2027-03-28", { time: "02:30", note }]]);
  expect([own(next), surprises(next)]).toEqual([[], [note]]);
});
