/** Pauses and resumes at once, with a way back for some seconds. */

import { send } from "../api/client";
import { asProblem } from "../api/problems";
import { toasts } from "./toasts.svelte";

/** Pause a queue or let it go on; `after` reads again what is shown. */
export async function pauseQueue(name: string, pause: boolean, after: () => Promise<void>): Promise<void> {
  const path = { name };
  await turned(
    () => (pause ? send("post", "/v1/queues/{name}/pause", { path, body: {} as never }) : send("post", "/v1/queues/{name}/resume", { path })),
    `${pause ? "Paused" : "Resumed"} ${name}.`,
    `${pause ? "Not paused" : "Not resumed"}: queue ${name}`,
    () => pauseQueue(name, !pause, after),
    after,
  );
}

/** Do what one click does and one click undoes; say what became of it. */
export async function turned(
  act: () => Promise<unknown>,
  done: string,
  failed: string,
  undo: () => Promise<void>,
  after: () => Promise<void>,
): Promise<void> {
  try {
    await act();
    toasts.say(done, { undo: () => void undo() });
  } catch (error) {
    toasts.say(`${failed}: ${asProblem(error).message}.`, { bad: true });
  }
  await after();
}
