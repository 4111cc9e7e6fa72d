/** What went wrong, as the server says it (RFC 9457), or as this page has to say it. */

export interface FieldFault {
  readonly in?: string;
  readonly pointer: string;
  readonly detail: string;
}

export class Problem extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    detail: string,
    readonly errors: readonly FieldFault[] = [],
    readonly requestId: string | undefined = undefined,
    readonly retryAfter: number | undefined = undefined,
  ) {
    super(detail);
  }

  /** What is wrong with one field, by its JSON pointer. */
  at(pointer: string): string | undefined {
    return this.errors.find((fault) => fault.pointer === pointer)?.detail;
  }
}

interface Body {
  code?: string;
  detail?: string;
  title?: string;
  errors?: FieldFault[];
  request_id?: string;
}

/** The problem that an answer is. */
export async function problemOf(answer: Response): Promise<Problem> {
  const body = (await answer.json().catch(() => ({}))) as Body;
  const after = Number(answer.headers.get("Retry-After") ?? NaN);
  return new Problem(
    body.code ?? "unexpected",
    answer.status,
    body.detail ?? body.title ?? `the server answered ${answer.status}`,
    body.errors ?? [],
    body.request_id ?? answer.headers.get("Rota-Request-Id") ?? undefined,
    Number.isFinite(after) ? after : undefined,
  );
}

/** Whatever was thrown, as a problem. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new Problem("no_answer", 0, "no answer within 10 s");
  }
  return new Problem("unreachable", 0, "the server cannot be reached");
}
