/** A rule as the fields of its form have it: parts of one in percent, times as text. */
export interface RuleForm {
  name: string;
  figure: string;
  /** Null while the field is empty. */
  threshold: number | null;
  over: "all" | "each" | "one";
  queue: string;
  hold: string;
  clear: number | null;
  enabled: boolean;
  whom: "all" | "some";
  webhooks: string[];
}

/** The form of a rule that is not there yet. */
export function blank(): RuleForm {
  return {
    name: "", figure: "queue_depth", threshold: null, over: "all", queue: "", hold: "1m", clear: 80,
    enabled: true, whom: "all", webhooks: [],
  };
}
