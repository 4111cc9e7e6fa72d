import { expect, test } from "vitest";
import { body, chosen, named, narrowed, outcome, tenants, tried, words, type Group } from "../src/pages/dead-letters/letters";

const group = (kind: string, count: number, first: string, last: string, shape = ""): Group => ({
  group: kind, kind, error_type: "HTTPError", shape, count, sample: "", reason: null, tenants: [],
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
  [["board", ""], "board, (none)"],
  [["a", "b", "c", "d", "e", "f", "g"], "a, b, c, d, e and 2 more"],
  [["x\u202ey"], "x\\u202ey"],
])("the tenants %o are %s", (names, said) => {
  expect(named(names)).toBe(said);
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

test("tenants are told by their part", () => {
  expect(tenants([{ tenant: "a" }, { tenant: "" }, { tenant: "a" }, { tenant: "b" }], 2)).toBe("a 2, (none) 1, 1 more");
});
