import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("../src/style/tokens.css", import.meta.url), "utf8");
const blocks = [...css.matchAll(/\{([^{}]*)\}/g)].map((match) =>
  Object.fromEntries(
    [...(match[1] ?? "").matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map((one) => [one[1], one[2]]),
  ),
);
const [light, dark, system] = blocks as [Record<string, string>, Record<string, string>, Record<string, string>];

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = ["canvas", "surface", "sunken", "hover", "selected"];
const TEXTS = ["text", "text-2", "text-3", "accent", "danger", "warn", "scheduled", "ready", "running", "completed", "failed", "cancelled", "retry"];

describe.each([["light", light], ["dark", dark]])("the %s theme", (_, theme) => {
  test.each(TEXTS)("%s can be read on every ground", (name) => {
    for (const ground of GROUNDS) {
      expect(contrast(theme[name] ?? "", theme[ground] ?? ""), ground).toBeGreaterThanOrEqual(4.5);
    }
  });
  test("lines of inputs, series and the focus ring can be seen", () => {
    for (const ground of ["canvas", "surface"]) {
      for (const name of ["line", "focus", "series-1", "series-2", "series-3", "series-4", "series-5", "series-rest"]) {
        expect(contrast(theme[name] ?? "", theme[ground] ?? ""), `${name} on ${ground}`).toBeGreaterThanOrEqual(3);
      }
    }
  });
  test("buttons can be read", () => {
    expect(contrast(theme["on-accent"] ?? "", theme["accent"] ?? "")).toBeGreaterThanOrEqual(4.5);
    expect(contrast(theme["on-danger"] ?? "", theme["danger"] ?? "")).toBeGreaterThanOrEqual(4.5);
  });
});

test("the system's dark theme is the dark theme", () => {
  expect(system).toEqual(dark);
});
