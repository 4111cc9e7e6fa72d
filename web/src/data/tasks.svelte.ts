/** A page of tasks: what is on the screen stays there, what is new is counted and offered. */

import { get } from "../api/client";
import type { components } from "../api/schema";
import { left } from "../lib/left";
import { bucket } from "./bucket";
import { Resource } from "./resource.svelte";
import { live } from "./live.svelte";

export type Row = components["schemas"]["TaskSummary"];
interface Changed {
  readonly id: string;
  readonly state?: string;
}

export const PAGE = 100;
const STATES: readonly string[] = ["scheduled", "ready", "running", "completed", "cancelled", "failed"];
/** So many rows that left are asked what became of them; of more it is only said that they left. */
const ASKED = 3;

export class TaskPage {
  /** The rows on the screen, in the order in which they came. */
  rows = $state.raw<readonly Row[]>([]);
  /** Ids on the screen that do not match any longer. */
  left = $state.raw<ReadonlySet<string>>(new Set());
  /** How many match that are not on the screen. */
  fresh = $state(0);
  next = $state<string | null>(null);
  readonly resource: Resource<{ items: Row[]; next: string | null }>;
  #query: Record<string, unknown>;
  readonly #path: "/v1/tasks" | "/v1/dead-letters";
  #shown = false;

  constructor(query: Record<string, unknown>, path: "/v1/tasks" | "/v1/dead-letters" = "/v1/tasks") {
    this.#query = query;
    this.#path = path;
    this.resource = new Resource((signal) => this.#load(signal));
    void this.refresh();
  }

  /** Show other tasks. */
  use(query: Record<string, unknown>): void {
    this.#query = query;
    this.#shown = false;
    this.resource.use((signal) => this.#load(signal));
  }

  /** Take in whatever is new, and let go of what left. */
  refresh(): Promise<void> {
    this.#shown = false;
    return this.resource.refresh();
  }

  /** Follow changes while the page is shown; returns what ends it. */
  follow(): () => void {
    return live.on(this.#path === "/v1/tasks" ? ["tasks", "actions"] : ["dead_letters", "actions"], ({ data }) => {
      this.#told((data as { changed?: Changed[] } | null)?.changed ?? []);
      void this.resource.refresh();
    }, 1000);
  }

  async #load(signal: AbortSignal): Promise<{ items: Row[]; next: string | null }> {
    const query = { ...this.#query, limit: PAGE, view: "summary" } as never;
    const page = (await get(this.#path, { query, signal })) as unknown as { items: Row[]; next: string | null };
    // Where there is nothing yet, nothing can move under anybody's eyes.
    if (this.#shown && this.rows.length > 0) {
      const before = this.left;
      this.#patch(page.items, page.next === null);
      const gone = [...this.left].filter((id) => !before.has(id));
      if (gone.length <= ASKED && this.#path === "/v1/tasks") await this.#ask(gone, signal);
    } else {
      this.#shown = true;
      this.rows = page.items;
      this.next = page.next;
      this.left = new Set();
      this.fresh = 0;
    }
    return page;
  }

  #patch(items: readonly Row[], whole: boolean): void {
    const now = new Map(items.map((row) => [row.id, row]));
    const shown = new Set(this.rows.map((row) => row.id));
    this.fresh = items.filter((row) => !shown.has(row.id)).length;
    this.left = left([...shown], new Set(now.keys()), this.fresh, whole);
    this.rows = this.rows.map((row) => now.get(row.id) ?? row);
  }

  /** A row that does not match any longer says what became of it. */
  async #ask(ids: readonly string[], signal: AbortSignal): Promise<void> {
    for (const id of ids) {
      await bucket.take(signal);
      const row = await get("/v1/tasks/{id}", { path: { id }, query: { view: "summary" } as never, signal }).catch(() => undefined);
      if (row !== undefined) this.rows = this.rows.map((one) => (one.id === id ? (row as unknown as Row) : one));
    }
  }

  #told(changed: readonly Changed[]): void {
    const states = new Map(changed.map((one) => [one.id, one.state]));
    if (!this.rows.some((row) => states.has(row.id))) return;
    this.rows = this.rows.map((row) => {
      const state = states.get(row.id);
      // Other words than states say only that something changed.
      return state === undefined || !STATES.includes(state) ? row : { ...row, state };
    });
  }
}
