/** What a key of this kind can see of access and alerts. */

import { session } from "../../data/me.svelte";

/** Whether the key lacks the role, or is bound where all tenants are meant together. */
export function barred(role: "admin" | "read"): boolean {
  const me = session.me;
  return !session.may(role) || me?.tenant != null || me?.queues != null;
}
