/** The address is the view: which page, and what it shows. Reload, Back and a sent link agree. */

import { match, type Match } from "./routes";

/** For how long a page may take to be as tall as it was, in milliseconds. */
const GROWS = 1500;

interface Remembered {
  readonly scroll: number;
  readonly kept: unknown;
}

class Router {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));
  readonly here: Match = $derived(match(this.path));
  #keeper: (() => unknown) | undefined;

  constructor() {
    // The one-time code of a ready link is taken by the page that signs in.
    if (location.hash.startsWith("#code=") && location.pathname !== "/login") {
      this.go(`/login${location.hash}`, { replace: true });
    }
    addEventListener("popstate", () => {
      this.#read();
      this.#scrolled();
    });
    // A page is as tall as it was only once it has read what it shows, which no browser waits for.
    history.scrollRestoration = "manual";
    addEventListener("pagehide", () => this.#remember());
    this.#scrolled();
  }

  /** What the page of before kept for whoever comes back to this address. */
  get kept(): unknown {
    return (history.state as Remembered | null)?.kept;
  }

  /** Keep what `what` returns for whoever comes back; the returned function ends it. */
  keeping(what: () => unknown): () => void {
    this.#keeper = what;
    return () => {
      if (this.#keeper === what) this.#keeper = undefined;
    };
  }

  /** Show another address; `replace` leaves no entry to come back to. */
  go(address: string, { replace = false } = {}): void {
    const target = new URL(address, location.href);
    if (target.origin !== location.origin) return;
    if (target.href === location.href) return;
    if (!replace) this.#remember();
    history[replace ? "replaceState" : "pushState"](replace ? history.state : null, "", target);
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

  #remember(): void {
    history.replaceState({ scroll: scrollY, kept: this.#keeper?.() } satisfies Remembered, "");
  }

  /** Scroll to where one was, as soon as the page is tall enough, unless somebody moves before. */
  #scrolled(): void {
    const wanted = (history.state as Remembered | null)?.scroll ?? 0;
    const until = performance.now() + GROWS;
    const stop = new AbortController();
    for (const moved of ["wheel", "pointerdown", "keydown", "touchstart"]) {
      addEventListener(moved, () => stop.abort(), { signal: stop.signal, passive: true });
    }
    const look = (): void => {
      if (stop.signal.aborted) return;
      const there = document.documentElement.scrollHeight - innerHeight >= wanted;
      if (!there && performance.now() < until) {
        requestAnimationFrame(look);
        return;
      }
      scrollTo(0, wanted);
      stop.abort();
    };
    requestAnimationFrame(look);
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

export const router = new Router();
