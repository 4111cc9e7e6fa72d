/** Asks anew who is signed in where that may have changed: after a refusal, and after a long sleep. */

import { session } from "./me.svelte";

const APART = 10_000;
const SLEPT = 60_000;
let last = 0;
let hidden: number | undefined;

/** Look whether the roles of this key are what they were; `changed` is told the new ones. */
export async function lookAgain(changed: (roles: readonly string[]) => void): Promise<void> {
  const before = session.me;
  if (before === undefined || performance.now() - last < APART) return;
  last = performance.now();
  await session.read();
  const now = session.me?.roles;
  if (now !== undefined && now.join() !== before.roles.join()) changed(now);
}

/** Whether this page comes to sight again after so long that its clock may be off. */
export function woken(): boolean {
  if (document.visibilityState !== "visible") {
    hidden = Date.now();
    return false;
  }
  const slept = hidden !== undefined && Date.now() - hidden > SLEPT;
  hidden = undefined;
  return slept;
}
