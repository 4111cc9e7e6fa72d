/** Lets nobody be told of an alert or of a rule's alerts for a while, with a way back. */

import { send } from "../../api/client";
import { clock } from "../../data/clock.svelte";
import { instant } from "../../lib/format";
import { turned } from "../../ui/pausing";

interface Silenced {
  readonly silenced_until: string | null;
}

/** Silence an alert for so many seconds; 0 ends it. */
export function silenceAlert(alert: Silenced & { id: string; rule: string }, seconds: number, after: () => Promise<void>): Promise<void> {
  const ask = (length: number) => send("post", "/v1/alerts/{id}/silence", { path: { id: alert.id }, body: { for: length } });
  return silence(ask, `this alert of ${alert.rule}`, alert, seconds, after);
}

/** Silence whatever a rule finds for so many seconds; 0 ends it. */
export function silenceRule(rule: Silenced & { name: string }, seconds: number, after: () => Promise<void>): Promise<void> {
  const ask = (length: number) => send("post", "/v1/alerts/rules/{name}/silence", { path: { name: rule.name }, body: { for: length } });
  return silence(ask, `the rule ${rule.name}`, rule, seconds, after);
}

/** How many seconds of silence are left. */
export function left(one: Silenced): number {
  return one.silenced_until === null ? 0 : Math.max(0, (instant(one.silenced_until) - clock.now) / 1000);
}

async function silence(
  ask: (seconds: number) => Promise<unknown>, what: string, was: Silenced, seconds: number, after: () => Promise<void>,
): Promise<void> {
  const before = Math.round(left(was));
  const back = async (): Promise<void> => {
    await ask(before);
    await after();
  };
  const done = seconds === 0 ? `People hear of ${what} again.` : `Nobody is told of ${what} for ${seconds >= 86_400 ? "1 day" : "1 hour"}.`;
  await turned(() => ask(seconds), done, `Not changed: ${what}`, back, after);
}
