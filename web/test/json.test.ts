import { describe, expect, test } from "vitest";
import { parse, write, JsonError } from "../src/lib/json";
import { memberText } from "../src/lib/pick";

test("numbers stay the text that was stored", () => {
  expect(write(parse('{"id": 9007199254740993, "f": 1.10e2}'))).toBe(
    '{\n  "id": 9007199254740993,\n  "f": 1.10e2\n}',
  );
  expect(memberText('{"payload": {"n": 12345678901234567890}}', "payload")).toContain(
    "12345678901234567890",
  );
});

describe("what is no JSON is refused with its line", () => {
  test.each([
    ["{", 1],
    ['{\n"a" 1}', 2],
    ['["a"\n"b"]', 2],
    ['"a\nb"', 1],
    ["01", 1],
    ["", 1],
    ["nul", 1],
  ])("%j in line %d", (text, line) => {
    expect(() => parse(text)).toThrow(JsonError);
    try {
      parse(text);
    } catch (error) {
      expect((error as JsonError).line).toBe(line);
    }
  });
});

test("256 KB in 32 levels are read at once", () => {
  const deep = `${"[".repeat(32)}"${"x".repeat(256 * 1024)}"${"]".repeat(32)}`;
  const began = performance.now();
  expect(parse(deep).kind).toBe("array");
  expect(performance.now() - began).toBeLessThan(200);
  expect(() => parse("[".repeat(100_000))).toThrow(JsonError);
});
