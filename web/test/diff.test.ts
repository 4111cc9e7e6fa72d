import { expect, test } from "vitest";
import { diff, folded } from "../src/lib/diff";

const shown = (before: string, after: string): string =>
  diff(before, after)
    .map(({ is, text }) => ({ same: " ", added: "+", removed: "-", "left-out": "~" })[is] + text)
    .join("|");

test.each([
  ["the same", "a\nb", "a\nb", " a| b"],
  ["a line more", "a\nc", "a\nb\nc", " a|+b| c"],
  ["a line less", "a\nb\nc", "a\nc", " a|-b| c"],
  ["another line: gone before new", "a\nb\nc", "a\nx\nc", " a|-b|+x| c"],
  ["two changes with the same between", "a\nb\nc\nd\ne", "A\nb\nc\nd\nE", "-a|+A| b| c| d|-e|+E"],
  ["from nothing", "", "a", "-|+a"],
  ["a line that is there twice", "a\na", "a\na\na", " a| a|+a"],
])("%s", (_, before, after, lines) => expect(shown(before, after)).toBe(lines));

test("what is far from a change is left out and counted", () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  const after = before.map((line, n) => (n === 10 ? "another" : line));
  expect(folded(diff(before.join("\n"), after.join("\n")), 1)).toEqual([
    { is: "left-out", text: "9" },
    { is: "same", text: "line 9" },
    { is: "removed", text: "line 10" },
    { is: "added", text: "another" },
    { is: "same", text: "line 11" },
    { is: "left-out", text: "8" },
  ]);
});

test("what is the same has nothing to show", () => {
  expect(folded(diff("a\nb", "a\nb"))).toEqual([{ is: "left-out", text: "2" }]);
});

test("very long texts are compared in bounded time", () => {
  const many = (word: string): string => Array.from({ length: 4000 }, (_, n) => `${word} ${n}`).join("\n");
  expect(diff(many("a"), many("b"))).toHaveLength(8000);
});
