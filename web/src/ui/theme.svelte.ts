/** Which colours are shown: as chosen in this browser, or as the system has it. */

import { flushSync } from "svelte";

const SYSTEM = matchMedia("(prefers-color-scheme: dark)");
const STORED = "rota.theme";

export type Choice = "" | "light" | "dark";

class Theme {
  /** What was chosen; "" follows the system. */
  choice = $state<Choice>(chosen());
  #system = $state(SYSTEM.matches);
  #printing = $state(false);
  /** What is shown: whoever draws by hand draws anew when it changes. */
  readonly dark = $derived(!this.#printing && (this.choice === "" ? this.#system : this.choice === "dark"));

  constructor() {
    SYSTEM.addEventListener("change", (event) => (this.#system = event.matches));
    addEventListener("beforeprint", () => this.#print(true));
    addEventListener("afterprint", () => this.#print(false));
  }

  choose(choice: Choice): void {
    show(choice);
    this.choice = choice;
    try {
      localStorage.setItem(STORED, choice);
    } catch {
      // It holds until the page is left.
    }
  }

  /** Paper is white; what is drawn by hand is drawn anew before it is printed. */
  #print(printing: boolean): void {
    show(printing ? "light" : this.choice);
    flushSync(() => (this.#printing = printing));
  }
}

function show(choice: Choice): void {
  if (choice === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

function chosen(): Choice {
  const given = document.documentElement.dataset.theme;
  return given === "light" || given === "dark" ? given : "";
}

export const theme = new Theme();
