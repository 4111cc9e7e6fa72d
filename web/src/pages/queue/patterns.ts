/** Which queues a worker takes, as its session names them. Pure. */

/** Whether words such as "sms", "bulk.*" and "!bulk" take a queue; an exclusion takes away from patterns only. */
export function takes(words: readonly string[], queue: string): boolean {
  if (words.includes(queue)) return true;
  const patterns = words.filter((word) => !word.startsWith("!") && isPattern(word));
  const without = words.filter((word) => word.startsWith("!")).map((word) => word.slice(1));
  return patterns.some((word) => fits(word, queue)) && !without.some((word) => fits(word, queue));
}

function isPattern(word: string): boolean {
  return word.includes("*");
}

function fits(pattern: string, queue: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(queue);
}
