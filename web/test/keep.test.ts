import { expect, test } from "vitest";
import { keep } from "../src/lib/keep";

const row = (id: string, count: number): { id: string; count: number } => ({ id, count });
const id = (one: { id: string }): string => one.id;

test("rows change in place and never move", () => {
  const kept = keep([row("a", 1), row("b", 2)], [row("b", 9), row("a", 3)], id);
  expect(kept.rows).toEqual([row("a", 3), row("b", 9)]);
  expect(kept.fresh).toBe(0);
});

test("what left stays and is marked; what is new is counted", () => {
  const kept = keep([row("a", 1), row("b", 2)], [row("c", 5), row("b", 2), row("d", 1)], id);
  expect(kept.rows.map(id)).toEqual(["a", "b"]);
  expect([...kept.left]).toEqual(["a"]);
  expect(kept.fresh).toBe(2);
});
