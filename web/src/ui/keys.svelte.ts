/** Whether single keys do anything: whoever speaks to the browser may turn them off (in the help). */

const STORED = "rota.keys";

class KeysWanted {
  #wanted = $state(stored());

  get wanted(): boolean {
    return this.#wanted;
  }

  set wanted(wanted: boolean) {
    this.#wanted = wanted;
    try {
      if (wanted) localStorage.removeItem(STORED);
      else localStorage.setItem(STORED, "off");
    } catch {
      // It holds until the page is left.
    }
  }
}

function stored(): boolean {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

export const keys = new KeysWanted();
