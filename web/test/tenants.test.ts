import { expect, test } from "vitest";
import { heldBy, nameOf, pathOf, rows, scopeOf, wanting, type Limit, type Served, type Tenant } from "../src/pages/tenants/tenants";

const tenant = (name: string, weight: number, waiting = 0): Tenant => ({
  name, weight, waiting, paused: false, paused_at: null, pause_reason: null, max_depth: null, version: 1, capped: false,
});
const served = (shares: Record<string, number>): Served => ({
  as_of: "", since: "", completed: 100,
  items: Object.entries(shares).map(([name, share]) => ({ tenant: name, share, completed: share * 100 })),
});
const limit = (queue: string | null, name: string | null): Limit => ({
  id: `${queue} ${name}`, queue, tenant: name, max_running: 5, rate: null, burst: null, version: 1, running: 0, tokens: null, as_of: "",
});

test("the tenant without a name is - in addresses", () => {
  expect([pathOf(""), pathOf("a.b"), nameOf("")]).toEqual(["/tenants/-", "/tenants/a.b", "(none)"]);
});

test("three to one to one: what is due beside what was got", () => {
  const found = rows([tenant("board", 3, 9), tenant("college", 1, 9)], served({ board: 0.58, college: 0.22, "": 0.2 }), [], true);
  expect(found.map((row) => [row.name, row.got, row.due, row.usual])).toEqual([
    ["", 0.2, 0.2, true],
    ["board", 0.58, 0.6, false],
    ["college", 0.22, 0.2, false],
  ]);
});

test("who wants nothing is due nothing", () => {
  const found = rows([tenant("board", 3, 9), tenant("idle", 5)], served({}), [], true);
  expect(found.map((row) => row.due)).toEqual([1, undefined]);
  expect(wanting([tenant("idle", 5)], undefined)).toEqual([]);
});

test("who is paused is due nothing, and takes nothing from the others", () => {
  const paused = { ...tenant("college", 1, 9), paused: true };
  const found = rows([tenant("board", 3, 9), paused], served({ board: 0.5, college: 0.5 }), [], true);
  expect(found.map((row) => row.due)).toEqual([1, undefined]);
});

test("only a limit of the tenant in all queues is its own", () => {
  const found = rows([tenant("board", 1)], undefined, [limit("sms", "board"), limit(null, "board")], false);
  expect(found[0]?.limit?.queue).toBe(null);
  expect(found[0]?.got).toBeUndefined();
});

test("the tenant that a key is bound to is there without settings", () => {
  const found = rows([], undefined, [], true, "board");
  expect(found.map((row) => [row.name, row.weight, row.got, row.usual])).toEqual([["board", 1, undefined, true]]);
});

test.each([
  [limit("sms", null), "queue sms"],
  [limit(null, ""), "tenant (none)"],
  [limit("sms", "board"), "queue sms, tenant board"],
])("scopes are said in words", (one, words) => expect(scopeOf(one)).toBe(words));

test.each([
  [false, [], []],
  [true, [], ["paused"]],
  [false, [{ ...limit(null, "board"), running: 5 }], ["cap"]],
  [false, [{ ...limit("sms", "board"), running: 4 }, { ...limit("sms", "college"), running: 5 }, { ...limit("sms", null), running: 5 }], []],
  [false, [{ ...limit("sms", "board"), max_running: null, rate: 2, burst: 5, tokens: 0.2, as_of: "1970-01-01T00:00:10Z" }], ["rate in sms"]],
  [false, [{ ...limit(null, "board"), rate: 2, burst: 5, tokens: 0.2, as_of: "1970-01-01T00:00:09Z" }], []],
  [true, [{ ...limit("sms", "board"), running: 6, rate: 1, burst: 1, tokens: 0, as_of: "1970-01-01T00:00:10Z" }], ["paused", "cap in sms", "rate in sms"]],
] as const)("paused %s, under limits %o, a tenant is held back by %o", (paused, limits, held) => {
  expect(heldBy({ name: "board", paused }, limits, 10_000)).toEqual(held);
});
