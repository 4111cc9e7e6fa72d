import { describe, expect, test } from "vitest";
import { asked, command, read, said, where } from "../src/lib/filters";

const of = (query: string) => read(new URLSearchParams(query));

describe("filters of an address", () => {
  test("an empty tenant is the one of tasks without any", () => {
    expect(of("tenant=").values).toEqual({ tenant: "" });
    expect(of("queue=").values).toEqual({});
    expect(said("tenant", "")).toBe("tenant (none)");
  });
  test("open is what is not over, all narrows nothing", () => {
    expect(asked(of(""))).toEqual({ state: "scheduled,ready,running" });
    expect(asked(of("state=all&queue=sms"))).toEqual({ queue: "sms" });
  });
  test("a bulk action says everything, and compares scalars of the payload", () => {
    expect(where(of("state=all"))).toEqual({ all: true });
    expect(where(of("state=failed&payload.school=17"))).toEqual({ state: ["failed"], payload: { school: 17 } });
    expect(where(of("state=all&payload.id=[1]"))).toEqual({ payload: { id: "[1]" } });
  });
  test("the same on the command line, quoted", () => {
    expect(command(of("state=failed&queue=sms&tag=a b'c"))).toBe("rota list --state failed --queue sms --tag 'a b'\\''c'");
  });
});
