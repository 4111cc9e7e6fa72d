/**
 * JSON as it was stored: numbers stay the text that they are, so that 9007199254740993 is shown and
 * copied exactly. A reader of its own, for the built-in one rounds.
 */

export type Json =
  | { readonly kind: "object"; readonly entries: readonly (readonly [string, Json])[] }
  | { readonly kind: "array"; readonly items: readonly Json[] }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "word"; readonly text: "true" | "false" | "null" };

export class JsonError extends Error {
  constructor(
    message: string,
    readonly at: number,
    readonly line: number,
  ) {
    super(`line ${line}: ${message}`);
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SPACE = /[ \t\n\r]*/y;
const DEEPEST = 1000;

/** Read a JSON text; `JsonError` says in which line it is none. */
export function parse(text: string): Json {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.space();
  if (reader.at < text.length) throw reader.wrong("something follows the value");
  return value;
}

/** Write JSON with two spaces a level, every number as it was read. */
export function write(value: Json, indent = ""): string {
  const deeper = `${indent}  `;
  switch (value.kind) {
    case "object":
      if (value.entries.length === 0) return "{}";
      return `{\n${value.entries
        .map(([name, inner]) => `${deeper}${JSON.stringify(name)}: ${write(inner, deeper)}`)
        .join(",\n")}\n${indent}}`;
    case "array":
      if (value.items.length === 0) return "[]";
      return `[\n${value.items.map((item) => deeper + write(item, deeper)).join(",\n")}\n${indent}]`;
    case "string":
      return JSON.stringify(value.value);
    default:
      return value.text;
  }
}

/** A value in one line, cut at some length. */
export function brief(value: Json, most = 60): string {
  switch (value.kind) {
    case "object":
      return value.entries.length === 0 ? "{}" : `{${value.entries.length}}`;
    case "array":
      return `[${value.items.length}]`;
    case "string": {
      const text = JSON.stringify(value.value);
      return text.length > most ? `${text.slice(0, most)}…` : text;
    }
    default:
      return value.text;
  }
}

class Reader {
  at = 0;

  constructor(private readonly text: string) {}

  value(depth: number): Json {
    if (depth > DEEPEST) throw this.wrong("it is nested too deeply");
    this.space();
    const char = this.text[this.at];
    if (char === "{") return this.object(depth);
    if (char === "[") return this.array(depth);
    if (char === '"') return { kind: "string", value: this.string() };
    for (const word of ["true", "false", "null"] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return { kind: "word", text: word };
      }
    }
    const number = this.match(NUMBER);
    if (number === undefined) throw this.wrong("a value is missing");
    return { kind: "number", text: number };
  }

  space(): void {
    this.match(SPACE);
  }

  wrong(message: string): JsonError {
    return new JsonError(message, this.at, this.text.slice(0, this.at).split("\n").length);
  }

  private object(depth: number): Json {
    const entries: [string, Json][] = [];
    this.at += 1;
    this.space();
    if (this.take("}")) return { kind: "object", entries };
    do {
      this.space();
      const name = this.string();
      this.space();
      if (!this.take(":")) throw this.wrong("a colon is missing");
      entries.push([name, this.value(depth + 1)]);
      this.space();
    } while (this.take(","));
    if (!this.take("}")) throw this.wrong("a comma or } is missing");
    return { kind: "object", entries };
  }

  private array(depth: number): Json {
    const items: Json[] = [];
    this.at += 1;
    this.space();
    if (this.take("]")) return { kind: "array", items };
    do {
      items.push(this.value(depth + 1));
      this.space();
    } while (this.take(","));
    if (!this.take("]")) throw this.wrong("a comma or ] is missing");
    return { kind: "array", items };
  }

  private string(): string {
    const found = this.match(STRING);
    if (found === undefined) throw this.wrong('a text in " is missing or not closed');
    return JSON.parse(found) as string;
  }

  private take(char: string): boolean {
    if (this.text[this.at] !== char) return false;
    this.at += 1;
    return true;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}
