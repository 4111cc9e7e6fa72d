/** What was changed between two texts, line by line. Pure. */

export interface Piece {
  readonly is: "same" | "added" | "removed" | "left-out";
  readonly text: string;
}

/** Above so many pairs of lines the middle is shown as replaced whole. */
const PAIRS_MOST = 1_000_000;

/** The lines of `before` and `after`: which are the same, which are gone, which are new. */
export function diff(before: string, after: string): Piece[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) tail += 1;
  return [
    ...said("same", old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...said("same", old.slice(old.length - tail)),
  ];
}

/** The changes with `around` lines beside them; the lines between are left out and counted. */
export function folded(pieces: readonly Piece[], around = 2): Piece[] {
  const near = pieces.map((_, n) =>
    pieces.slice(Math.max(0, n - around), n + around + 1).some((piece) => piece.is !== "same"),
  );
  const found: Piece[] = [];
  for (let n = 0; n < pieces.length; ) {
    const from = n;
    while (n < pieces.length && !near[n]) n += 1;
    if (n > from) found.push({ is: "left-out", text: String(n - from) });
    for (let piece = pieces[n]; n < pieces.length && near[n] && piece; piece = pieces[n]) {
      found.push(piece);
      n += 1;
    }
  }
  return found;
}

function said(is: Piece["is"], lines: readonly string[]): Piece[] {
  return lines.map((text) => ({ is, text }));
}

/** The longest lines in common, walked through from the front. */
function middle(old: readonly string[], now: readonly string[]): Piece[] {
  if (old.length * now.length > PAIRS_MOST) return [...said("removed", old), ...said("added", now)];
  const wide = now.length + 1;
  const common = new Uint32Array((old.length + 1) * wide);
  const at = (row: number, column: number): number => common[row * wide + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      common[row * wide + column] =
        old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const found: Piece[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < now.length) {
    if (row < old.length && column < now.length && old[row] === now[column]) {
      found.push({ is: "same", text: old[row] ?? "" });
      row += 1;
      column += 1;
    } else if (row < old.length && (column === now.length || at(row + 1, column) >= at(row, column + 1))) {
      found.push({ is: "removed", text: old[row] ?? "" });
      row += 1;
    } else {
      found.push({ is: "added", text: now[column] ?? "" });
      column += 1;
    }
  }
  return found;
}
