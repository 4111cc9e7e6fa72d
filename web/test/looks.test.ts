import { describe, expect, test } from "vitest";
import { ran, waited } from "../src/lib/ages";
import { command, order, read, unknown, where, written } from "../src/lib/filters";
import { left } from "../src/lib/left";
import { far, outcome, pace, part, title } from "../src/lib/operations";
import { holding, local, place } from "../src/lib/reasons";
import { sought } from "../src/lib/search";
import { frozen } from "../src/lib/series";
import type { Span } from "../src/lib/timeline";
import { attempts, within, zoomOf, zoomText } from "../src/lib/zoom";

const of = (query: string) => read(new URLSearchParams(query));
const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

describe("what was typed into the search", () => {
  test.each([
    ["01a22f3c-7694-76ec-81b8-67e022730e19", "/tasks/01a22f3c-7694-76ec-81b8-67e022730e19"],
    [" hold-17 ", "/tasks?state=all&q=hold-17"],
    ["queue:sms", "/tasks?state=all&queue=sms"],
    ["payload.school.id=17", "/tasks?state=all&payload.school.id=17"],
    ["order:17", "/tasks?state=all&q=order%3A17"],
    ["", undefined],
  ])("%s", (text, address) => expect(sought(text)).toBe(address));
});

describe("filters", () => {
  test("what nobody knows is kept and named", () => {
    expect(unknown(new URLSearchParams("queue=sms&payload.a=1&colour=red&colour=blue&cols=key"))).toEqual(["colour"]);
  });
  test("a number of the payload keeps every digit on its way to a bulk action", () => {
    const filter = where(of("state=all&payload.id=9007199254740993&payload.n=1.50&payload.s=x"));
    expect(written({ filter })).toBe('{"filter":{"payload":{"id":9007199254740993,"n":1.50,"s":"x"}}}');
  });
  test("only what the command line can say is offered for it", () => {
    expect(command(of("error_type=Timeout"))).toContain("--error Timeout");
    expect(command(of("payload.id=1"))).toBeUndefined();
    expect(command(of("run_from=2026-12-01T00:00:00Z"))).toBeUndefined();
  });
  test.each([
    ["", "-created"],
    ["state=scheduled", "run_at"],
    ["state=running", "started_at"],
    ["state=failed", "-finished_at"],
    ["state=ready", "-created"],
    ["state=ready&queue=sms&tenant=", "rank"],
  ])("%s is listed by %s", (query, by) => expect(order(of(query)).order).toBe(by));
  test("a key's own tenant makes a lane", () => expect(order(of("state=ready&queue=sms"), "board").order).toBe("rank"));
});

describe("rows that are no longer in the list", () => {
  test("left it, unless new ones pushed them behind the end", () => {
    expect(left(["a", "b", "c"], new Set(["n", "a", "b"]), 1, false)).toEqual(new Set());
    expect(left(["a", "b", "c"], new Set(["n", "a", "c"]), 1, false)).toEqual(new Set(["b"]));
    expect(left(["a", "b", "c"], new Set(["n", "a"]), 1, true)).toEqual(new Set(["b", "c"]));
  });
});

describe("ages", () => {
  const task = { state: "ready", created_at: at(10), run_at: at(5), started_at: null, finished_at: null };
  test("a wait counts from when it could have run", () => {
    expect(waited(task, 30_000)).toBe(20);
    expect(waited({ ...task, state: "scheduled", run_at: at(99) }, 30_000)).toBeUndefined();
    expect(waited({ ...task, state: "completed", started_at: at(12), finished_at: at(15) }, 30_000)).toBe(2);
  });
  test("a run counts to its end, or to now", () => {
    expect(ran(task, 30_000)).toBeUndefined();
    expect(ran({ ...task, state: "running", started_at: at(12) }, 30_000)).toBe(18);
    expect(ran({ ...task, state: "completed", started_at: at(12), finished_at: at(15) }, 30_000)).toBe(3);
  });
});

describe("a change of many tasks", () => {
  const action = { do: "cancel", on: "tasks", state: "stopped", matched: 1250, capped: false, done: 1000, changed: 990, skipped: { too_late: 10 } };
  test("says what it is, and exactly what came of it", () => {
    expect(title(action)).toBe("Cancel 1,250 tasks");
    expect(outcome(action)).toBe("990 cancelled or asked to stop, 10 already over, 250 left as they were.");
    expect(outcome({ ...action, state: "completed", done: 1250 })).not.toContain("left as they were");
  });
  test("tells its pace once there is one", () => {
    expect(pace(action, undefined, 5000)).toBeUndefined();
    expect(pace(action, { done: 500, at: 0 }, 5000)).toBe("100 tasks a second, about 2.5 s to go");
  });
});

describe("reasons", () => {
  const task = { queue: "sms", tenant: "board" };
  test.each([
    [{ code: "paused", what: "queue", name: "a/b" }, "/queues/a%2Fb"],
    [{ code: "paused", what: "tenant", name: "board" }, "/tenants/board"],
    [{ code: "paused", what: "tenant", name: "" }, "/tenants/-"],
    [{ code: "out_of_tokens", queue: "sms", tenant: "board" }, "/tenants/board"],
    [{ code: "out_of_tokens", queue: "sms", tenant: null }, "/queues/sms"],
    [{ code: "paused", what: "kind", name: "send" }, "/tasks?kind=send"],
    [{ code: "at_cap", queue: "sms", tenant: null }, "/tasks?state=running&queue=sms"],
    [{ code: "in_turn" }, "/tasks?state=ready&queue=sms&tenant=board"],
    [{ code: "no_worker" }, "/workers"],
    [{ code: "not_due" }, undefined],
  ])("%o leads to where it can be changed", (reason, address) => expect(place(reason, task)?.address).toBe(address));
  test("instants are told in the zone of whoever reads", () => {
    const now = Date.parse("2026-12-01T12:00:00Z");
    expect(local("Paused since 2026-12-01T01:33:41.383856Z (paper).", now, "Europe/Berlin")).toBe("Paused since 02:33:41 (paper).");
  });
});

describe("a part of a timeline", () => {
  const span = (from: number, to: number, doing: Span["doing"], end?: Span["end"]): Span => ({
    from, to, doing, text: "", idle: doing === "not-due", ...(end === undefined ? {} : { end }),
  });
  const life = [span(0, 100, "not-due"), span(100, 140, "running", "failed"), span(140, 200, "waiting")];
  test("is in the address, and back", () => {
    const zoom = { from: 60, to: 120 };
    expect(zoomOf(zoomText(zoom))).toEqual(zoom);
    expect(zoomOf("yesterday..")).toBeUndefined();
    expect(zoomOf(undefined)).toBeUndefined();
  });
  test("has what lies within, without marks from outside and without folds", () => {
    const part = within(life, { from: 60, to: 120 });
    expect(part.map(({ from, to, end, idle }) => [from, to, end, idle])).toEqual([
      [60, 100, undefined, false],
      [100, 120, undefined, false],
    ]);
    expect(within(life, undefined)).toEqual(life);
  });
  test("is that of the attempts, with a little room", () => {
    expect(attempts(life)).toEqual({ from: 98, to: 142 });
    expect(attempts([span(0, 9, "waiting")])).toBeUndefined();
  });
});

test("a link to what is shown now shows the same later", () => {
  const now = Date.parse("2026-12-01T12:00:00Z");
  const url = new URL(frozen("http://localhost/?range=15m", now));
  expect([...url.searchParams]).toEqual([["from", "2026-12-01T11:45:00.000Z"], ["to", "2026-12-01T12:00:00.000Z"]]);
});

test.each([
  [{ state: "running", matched: 500, capped: false, done: 310 }, "310 of 500, 62 %", 0.62],
  [{ state: "completed", matched: 500, capped: false, done: 500 }, "500 of 500, 100 %", 1],
  [{ state: "running", matched: 10_000, capped: true, done: 40_000 }, "40,000 so far", undefined],
  [{ state: "stopped", matched: 10_000, capped: true, done: 40_000 }, "40,000 so far", undefined],
  [{ state: "completed", matched: 10_000, capped: true, done: 100_000 }, "100,000 in all", 1],
])("an operation is so far: %o", (given, text, behind) => {
  const action = { do: "cancel", on: "tasks", changed: 0, skipped: {}, ...given };
  expect([far(action), part(action)]).toEqual([text, behind]);
});

test("what holds a task back are all reasons but its turn", () => {
  const reasons = [{ code: "at_cap", queue: "sms" }, { code: "in_turn" }];
  expect(holding(["At its cap.", "Is the next."], reasons)).toEqual([{ sentence: "At its cap.", reason: reasons[0] }]);
});

test("a task that failed leads to all that failed like it", () => {
  expect(place({ code: "finished" }, { queue: "sms", tenant: "", error_group: "0f3a" })?.address).toBe("/dead-letters/0f3a");
  expect(place({ code: "finished" }, { queue: "sms", tenant: "", error_group: null })).toBeUndefined();
});
