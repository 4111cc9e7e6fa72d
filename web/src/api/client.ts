/** Calls of the API: typed by its document, timed out, repeated only if they only read. */

import type { paths } from "./schema";
import { Problem, asProblem, problemOf } from "./problems";

const TIMEOUT = 10_000;
const AGAIN = new Set([502, 503, 504]);
const TRIES = 3;

type Method = "get" | "post" | "patch" | "delete";
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Content<R> = R extends { content: { "application/json": infer T } } ? T : undefined;
type Success<O> = O extends { responses: infer R }
  ? Content<R[Extract<keyof R, 200 | 201 | 202 | 207>]>
  : never;
type Query<O> = O extends { parameters: { query?: infer Q } } ? Q : never;
type PathOf<O> = O extends { parameters: { path: infer V } } ? V : never;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;

export interface Wanted<O> {
  path?: PathOf<O>;
  query?: Query<O>;
  body?: BodyOf<O>;
  /** The body as it is sent, where its numbers must keep every digit. */
  text?: string;
  ifMatch?: number;
  /** Makes a repeat of a write find the first one. */
  key?: string;
  signal?: AbortSignal;
}

let csrf = "";
let onSignedOut: () => void = () => undefined;
let onBarred: () => void = () => undefined;

/** What changing calls prove that they come from this page with. */
export function useToken(token: string): void {
  csrf = token;
}

/** What to do when the sign-in is over. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

/** What to do when a key may not do what it was thought to. */
export function whenBarred(act: () => void): void {
  onBarred = act;
}

/** Read something; what is away for a moment is asked for again. */
export async function get<P extends PathsWith<"get">>(
  path: P,
  wanted: Wanted<Operation<P, "get">> = {},
): Promise<Success<Operation<P, "get">>> {
  return (await read(path, wanted)).json();
}

/** Read something as the text that was sent, with every digit of its numbers. */
export async function getText<P extends PathsWith<"get">>(
  path: P,
  wanted: Wanted<Operation<P, "get">> = {},
): Promise<string> {
  return (await read(path, wanted)).text();
}

/** Change something, once: a write is never repeated by itself. */
export async function send<M extends Exclude<Method, "get">, P extends PathsWith<M>>(
  method: M,
  path: P,
  wanted: Wanted<Operation<P, M>> = {},
): Promise<Success<Operation<P, M>>> {
  const answer = await call(method.toUpperCase(), path as string, wanted);
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as Success<Operation<P, M>>;
}

async function read(path: string, wanted: Wanted<never>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call("GET", path, wanted);
    } catch (error) {
      const problem = asProblem(error);
      const again = AGAIN.has(problem.status) || problem.code === "unreachable";
      if (!again || tries === TRIES || wanted.signal?.aborted) throw problem;
      await new Promise((resolve) => setTimeout(resolve, 300 * tries));
    }
  }
}

async function call(method: string, path: string, wanted: Wanted<never>): Promise<Response> {
  const headers: Record<string, string> = {};
  if (method !== "GET") {
    headers["Content-Type"] = "application/json";
    headers["Rota-CSRF"] = csrf;
  }
  if (wanted.ifMatch !== undefined) headers["If-Match"] = `"${wanted.ifMatch}"`;
  if (wanted.key !== undefined) headers["Idempotency-Key"] = `"${wanted.key}"`;
  const timeout = AbortSignal.timeout(TIMEOUT);
  const signal = wanted.signal ? AbortSignal.any([wanted.signal, timeout]) : timeout;
  let answer: Response;
  try {
    answer = await fetch(address(path, wanted), {
      method,
      headers,
      signal,
      credentials: "same-origin",
      body: method === "GET" ? null : (wanted.text ?? JSON.stringify(wanted.body ?? {})),
    });
  } catch (error) {
    if (wanted.signal?.aborted) throw error;
    throw asProblem(error);
  }
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (problem.status === 401) onSignedOut();
  if (problem.status === 403) onBarred();
  throw problem;
}

function address(path: string, wanted: Wanted<never>): string {
  const values = (wanted.path ?? {}) as Record<string, string>;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries((wanted.query ?? {}) as Record<string, unknown>)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== "object") query.set(name, String(value));
    // A mapping is written by its paths: payload.student.id=17
    else for (const [key, inner] of Object.entries(value)) query.set(`${name}.${key}`, String(inner));
  }
  const text = query.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

export { Problem };
