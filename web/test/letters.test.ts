import { expect, test } from "vitest";
import { body, chosen, lately, narrowed, outcome, spoken, tried, whose, words, type Group } from "../src/pages/dead-letters/letters";

const group = (kind: string, count: number, first: string, last: string, shape = ""): Group => ({
  group: kind, kind, error_type: "HTTPError", shape, count, sample: "", reason: null, tenants: [], by_tenant: {}, by_hour: {},
  first_at: `2026-11-30T${first}:00Z`, last_at: `2026-11-30T${last}:00Z`,
});
const GROUPS = [group("a", 2, "09:00", "12:00", "503 from <url>"), group("b", 9, "08:00", "10:00"), group("c", 5, "10:00", "11:00")];

test("an empty tenant is the one without a name, and absent is any", () => {
  expect(narrowed(new URLSearchParams("kind=&tenant=&queue=sms&q=x"))).toEqual({ tenant: "", queue: "sms" });
  expect(words({ kind: "send", tenant: "" })).toBe("kind send · tenant (none)");
  expect(words({})).toBe("all dead letters");
});

test.each([
  ["count", "bca"],
  ["last", "acb"],
  ["first", "bac"],
] as const)("groups sorted by %s", (sort, order) => {
  expect(chosen(GROUPS, "", sort).map((one) => one.kind).join("")).toBe(order);
});

test("groups are found by the text of their error", () => {
  expect(chosen(GROUPS, " 503 FROM ", "count").map((one) => one.kind)).toEqual(["a"]);
});

test("a group's id is not read to people", () => {
  expect(words({ error_group: "0f3a", tenant: "board" })).toBe("this group · tenant board");
});

test.each([
  [2, { "": 2 }, ""],
  [0, {}, ""],
  [74, { college: 4, board: 70 }, "board 70, college 4"],
  [3, { board: 2, "": 1 }, "board 2, (none) 1"],
  [9, { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1 }, "a 1, b 1, c 1, d 1, e 1 and others 4"],
  [20_000, { board: 600, college: 400 }, "board 600, college 400 of the newest 1,000"],
  [1, { "x\u202ey": 1 }, "x\\u202ey 1"],
])("of %i dead letters %o are told as %s", (count, by_tenant, said) => {
  expect(whose({ count, by_tenant })).toBe(said);
});

test("the last day is told by the hour, and what lies before it not at all", () => {
  const by_hour = {
    "2026-11-29T12:00:00Z": 5, "2026-11-29T13:00:00Z": 1, "2026-11-30T11:00:00Z": 4,
    "2026-11-30T12:00:00Z": 2, "2026-11-30T13:00:00Z": 1,
  };
  const bars = lately({ by_hour }, "2026-11-30T12:40:00Z");
  expect(bars).toEqual([1, ...new Array<number>(21).fill(0), 4, 3]);
  expect(spoken(bars)).toBe("8 failed in the last 24 hours, 4 in the hour with the most");
  expect(spoken([0, 0])).toBe("none failed in the last 24 hours");
});

test("everything has to be said", () => {
  expect(body({ filter: {} })).toEqual({ on: "dead_letters", filter: { all: true } });
  expect(body({ filter: { error_group: "g" } })).toEqual({ on: "dead_letters", filter: { error_group: "g" } });
  expect(body({ ids: ["1"] })).toEqual({ on: "dead_letters", ids: ["1"] });
});

test("what became of it is told with what was skipped", () => {
  expect(outcome("replayed", { changed: 1190, skipped: { replayed_before: 23, not_found: 0 } })).toBe(
    "1,190 replayed, 23 replayed before.",
  );
});

test("what was tried first is told by its ends", () => {
  expect(tried(["completed", "failed", "completed", "running", "ready"])).toBe("2 completed, 1 failed again, 2 are not over yet");
  expect(tried(["cancelled"])).toBe("1 cancelled");
});
