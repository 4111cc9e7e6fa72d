import { describe, expect, test } from "vitest";
import { BLANK, bodyOf, changes, fieldsOf, merged, payloadFault, ruleOf, short, written, type Fields } from "../src/pages/schedules/form";
import type { Schedule } from "../src/pages/schedules/schedule";

const stored = {
  id: "s-1", name: "nightly", source: "", expression: "30 2 * * *", every: null, anchor: null, tz: "Europe/Berlin",
  seconds: false, both_days: false, gap: "skip", fold: "both", starts_at: "2027-03-28T01:00:00.000000Z", ends_at: null,
  missed: "run_all", grace: 90, max_catchup: 5, max_age: 7200, overlap: "queue", max_pending: 3, jitter: 300,
  max_runs: null, kind: "sync", payload: {}, queue: "default", tenant: "board", priority: 5, timeout: 0.5, retry: null,
  expires_in: 86_400, tags: ["a", "b"], headers: { trace: "x:y" }, concurrency_key: null, max_concurrency: null,
} as unknown as Schedule;
const form = (given: Partial<Fields> = {}): Fields => ({ ...fieldsOf(stored, "{}"), ...given });

test("durations are written in the largest unit that they are a whole number of", () => {
  expect([short(90), short(60), short(5400), short(86_400), short(0.5), short(0), short(null)]).toEqual(["90s", "1m", "90m", "1d", "0.5s", "", ""]);
});

describe("a stored schedule in the form", () => {
  test("says what it says, times on the clock of its zone", () => {
    const said = bodyOf(form());
    expect(form().starts_at).toBe("2027-03-28T03:00");
    expect(said).toMatchObject({
      expression: "30 2 * * *", gap: "skip", fold: "both", overlap: "queue(3)", starts_at: "2027-03-28T01:00:00.000Z",
      grace: "90s", max_age: "2h", jitter: "5m", expires_in: "1d", tags: ["a", "b"], headers: { trace: "x:y" }, max_runs: null,
    });
    expect("every" in said).toBe(false);
  });

  test("sends only what was changed; what was emptied goes back to the default", () => {
    expect(changes(form(), form())).toEqual({});
    expect(changes(form({ grace: "120s", ends_at: "2027-10-31T02:30", tenant: "" }), form())).toEqual({
      grace: "120s", ends_at: "2027-10-31T00:30:00.000Z", tenant: null,
    });
  });

  test("may turn into an interval, which takes the expression away", () => {
    const said = changes(form({ mode: "every", every: "90s" }), form());
    expect(said).toEqual({ every: "90s", anchor: null });
  });
});

test("a new one says nothing of what is left as usual, and looks ahead of its whole rule", () => {
  expect(changes({ ...BLANK, kind: "sync", missed: "skip" }, BLANK)).toEqual({ missed: "skip" });
  expect(ruleOf({ ...BLANK, jitter: "5m" })).toMatchObject({ expression: "0 9 * * MON-FRI", tz: "UTC", jitter: "5m" });
  expect("overlap" in ruleOf(BLANK)).toBe(false);
});

test("a payload is sent as it was typed, with every digit", () => {
  expect(written({ queue: "sms" }, '{"n": 9007199254740993}')).toBe('{"queue":"sms","payload":{"n": 9007199254740993}}');
  expect(written({}, "{}")).toBe('{"payload":{}}');
  expect(written({ queue: null }, undefined)).toBe('{"queue":null}');
  expect([payloadFault("{}"), payloadFault("[1]"), payloadFault('{"a": 1,\n}')]).toEqual([undefined, "line 1: a payload is an object, {…}", 'line 2: a text in " is missing or not closed']);
});

test("what somebody else changed is taken in, and nothing that was typed is lost", () => {
  const base = form();
  const found = merged(form({ grace: "120s", queue: "mine" }), base, form({ grace: "5m", max_runs: "9", queue: "mine" }));
  expect(found.fields).toMatchObject({ grace: "120s", queue: "mine", max_runs: "9" });
  expect([found.both, found.taken]).toEqual([["grace"], ["max_runs"]]);
});
