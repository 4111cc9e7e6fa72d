/** Which key does what: one table for the keys themselves, the menus and the help. */

export interface Binding {
  readonly keys: string;
  readonly does: string;
}

export const BINDINGS = {
  search: { keys: "/", does: "Search" },
  help: { keys: "?", does: "Show the keys" },
  overview: { keys: "g o", does: "Go to the overview" },
  tasks: { keys: "g t", does: "Go to tasks" },
  schedules: { keys: "g s", does: "Go to schedules" },
  deadLetters: { keys: "g d", does: "Go to dead letters" },
  tenants: { keys: "g n", does: "Go to tenants and limits" },
  workers: { keys: "g w", does: "Go to workers" },
  access: { keys: "g a", does: "Go to access" },
  down: { keys: "j", does: "Next row" },
  up: { keys: "k", does: "Row before" },
  open: { keys: "o", does: "Open the row" },
  select: { keys: "x", does: "Select the row" },
  extendDown: { keys: "Shift+J", does: "Select the next row as well" },
  extendUp: { keys: "Shift+K", does: "Select the row before as well" },
  selectAll: { keys: "Shift+A", does: "Select all that match" },
  older: { keys: "]", does: "Next page" },
  newer: { keys: "[", does: "Page before" },
  filter: { keys: "f", does: "Add a filter" },
  cancel: { keys: "c", does: "Cancel" },
  retry: { keys: "r", does: "Retry or replay" },
  pause: { keys: "p", does: "Pause or resume" },
  edit: { keys: "e", does: "Edit" },
  copyId: { keys: "y", does: "Copy the id" },
  copyLink: { keys: "Shift+Y", does: "Copy the link, its times fixed" },
  menu: { keys: ".", does: "Open the menu" },
  live: { keys: "l", does: "Live updates on or off" },
  back: { keys: "Escape", does: "One step back" },
} as const satisfies Record<string, Binding>;

export type Deed = keyof typeof BINDINGS;

const BY_KEYS = new Map<string, Deed>(
  Object.entries(BINDINGS).map(([deed, binding]) => [binding.keys, deed as Deed]),
);
const FIRST_OF_TWO = new Set(
  [...BY_KEYS.keys()].filter((keys) => keys.includes(" ")).map((keys) => keys.split(" ")[0]),
);
const PATIENCE = 1000;

export interface Pressed {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Turns key presses into deeds; two keys in a row may stand for one. */
export class Keys {
  private first = "";
  private at = 0;

  /** The deed of a key, or undefined; nothing with other modifiers, and nothing inside inputs. */
  press(event: Pressed, now: number, typing: boolean): Deed | undefined {
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    if (typing) return event.key === "Escape" ? "back" : undefined;
    const key = event.shiftKey && event.key.length === 1 && /[A-Z]/.test(event.key)
      ? `Shift+${event.key}`
      : event.key;
    const pair = this.first !== "" && now - this.at < PATIENCE ? `${this.first} ${key}` : "";
    this.first = "";
    const both = BY_KEYS.get(pair);
    if (both !== undefined) return both;
    if (FIRST_OF_TWO.has(key)) {
      this.first = key;
      this.at = now;
      return undefined;
    }
    return BY_KEYS.get(key);
  }
}
