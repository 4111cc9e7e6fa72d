import { expect, test } from "vitest";
import { BINDINGS, Keys } from "../src/lib/keys";

const key = (name: string, more = {}) => ({
  key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...more,
});

test("two keys in a row go to a page, unless too far apart", () => {
  const keys = new Keys();
  expect(keys.press(key("g"), 0, false)).toBeUndefined();
  expect(keys.press(key("t"), 500, false)).toBe("tasks");
  keys.press(key("g"), 1000, false);
  expect(keys.press(key("t"), 3000, false)).toBeUndefined();
});

test("nothing happens while typing, but for one step back", () => {
  const keys = new Keys();
  expect(keys.press(key("j"), 0, true)).toBeUndefined();
  expect(keys.press(key("Escape"), 0, true)).toBe("back");
  expect(keys.press(key("j", { ctrlKey: true }), 0, false)).toBeUndefined();
  expect(keys.press(key("A", { shiftKey: true }), 0, false)).toBe("selectAll");
});

test("no key stands for two deeds", () => {
  const all = Object.values(BINDINGS).map((binding) => binding.keys);
  expect(new Set(all).size).toBe(all.length);
});
