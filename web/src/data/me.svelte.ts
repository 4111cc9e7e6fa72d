/** Who is signed in, and what that key may do. */

import { get, useToken } from "../api/client";
import type { components } from "../api/schema";
import { asProblem, type Problem } from "../api/problems";
import { clock } from "./clock.svelte";
import { live } from "./live.svelte";

export type Me = components["schemas"]["Me"];
export type Role = "submit" | "read" | "operate" | "admin" | "worker";

const STRONGEST: readonly Role[] = ["admin", "operate", "read", "submit", "worker"];

class Session {
  me = $state.raw<Me | undefined>();
  problem = $state.raw<Problem | undefined>();
  /** Whether it is known who is signed in, or that nobody is. */
  known = $state(false);
  /** The role that lets this key do most. */
  readonly role = $derived(STRONGEST.find((role) => this.may(role)));

  /** Ask who is signed in; the server's time comes along. */
  async read(): Promise<void> {
    try {
      const me = await get("/v1/me");
      this.me = me;
      this.problem = undefined;
      useToken(me.csrf ?? "");
      clock.observe(Date.parse(me.server_time));
      live.start(me.key_id ?? "");
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status === 401) this.over();
      else this.problem = problem;
    }
    this.known = true;
  }

  /** Forget who was signed in. */
  over(): void {
    this.me = undefined;
    useToken("");
    live.stop();
  }

  may(role: Role): boolean {
    return this.me?.roles.includes(role) ?? false;
  }

  /** Why something cannot be done with this key, or undefined if it can. */
  lacks(role: Role): string | undefined {
    if (this.may(role)) return undefined;
    return `needs ${role}; this key has ${this.me?.roles.join(", ") || "no role"}`;
  }
}

export const session = new Session();
