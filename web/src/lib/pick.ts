/** One member of a JSON text as it was written, without reading its numbers. */

import { parse, write, type Json } from "./json";

/** The member `name` of an object, or undefined. */
export function member(value: Json, name: string): Json | undefined {
  return value.kind === "object" ? value.entries.find(([key]) => key === name)?.[1] : undefined;
}

/** The JSON of the member `name` of the object in `text`; "null" where there is none. */
export function memberText(text: string, name: string): string {
  const found = member(parse(text), name);
  return found === undefined ? "null" : write(found);
}
