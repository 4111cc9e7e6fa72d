/** Puts a text on the clipboard and says so; without the clipboard's API by a selection. */

import { toasts } from "./toasts.svelte";

export async function copy(text: string, what: string): Promise<void> {
  try {
    if (navigator.clipboard === undefined) bySelection(text);
    else await navigator.clipboard.writeText(text);
    toasts.say(`Copied ${what}.`);
  } catch {
    toasts.say(`${what} could not be copied: this browser does not allow it.`, { bad: true });
  }
}

function bySelection(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("not allowed");
}
