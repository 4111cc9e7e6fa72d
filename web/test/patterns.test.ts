import { expect, test } from "vitest";
import { takes } from "../src/pages/queue/patterns";

test.each([
  [["sms"], "sms", true],
  [["sms"], "mail", false],
  [["*"], "mail", true],
  [["*", "!mail"], "mail", false],
  [["mail", "*", "!mail"], "mail", true],
  [["bulk.*"], "bulk.sms", true],
  [["bulk.*"], "bulkxsms", false],
  [["*", "!bulk.*"], "bulk.sms", false],
  [[], "sms", false],
])("a worker of %j takes %s: %s", (words, queue, does) => expect(takes(words, queue)).toBe(does));
