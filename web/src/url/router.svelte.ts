/** The address is the view: which page, and what it shows. Reload, Back and a sent link agree. */

import { match, type Match } from "./routes";

class Router {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));
  readonly here: Match = $derived(match(this.path));

  constructor() {
    // The one-time code of a ready link is taken by the page that signs in.
    if (location.hash.startsWith("#code=") && location.pathname !== "/login") {
      this.go(`/login${location.hash}`, { replace: true });
    }
    addEventListener("popstate", () => this.#read());
  }

  /** Show another address; `replace` leaves no entry to come back to. */
  go(address: string, { replace = false } = {}): void {
    const target = new URL(address, location.href);
    if (target.origin !== location.origin) return;
    if (target.href === location.href) return;
    history[replace ? "replaceState" : "pushState"](null, "", target);
    this.#read();
    if (!replace) scrollTo(0, 0);
  }

  /** Change parameters of this page's address; undefined takes one away. */
  set(changes: Record<string, string | undefined>, { replace = false } = {}): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    this.go(text === "" ? this.path : `${this.path}?${text}`, { replace });
  }

  get(name: string): string | undefined {
    return this.query.get(name) ?? undefined;
  }

  /** Take over clicks on links to pages of ours; all others are the browser's. */
  follow(event: MouseEvent): void {
    const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || event.button !== 0 || modified) return;
    const link = (event.target as Element | null)?.closest("a");
    if (!link || link.target || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.pathname.startsWith("/v1/")) return;
    event.preventDefault();
    this.go(link.href);
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

export const router = new Router();
