// A worker of Rota in sixty lines of Node.js, standard library only: ROTA_URL=http://localhost:8300 ROTA_TOKEN=rota_… node worker.mjs sms=20
import { setTimeout as pause } from "node:timers/promises";
const handlers = {
  send_result: async (task, signal) => `sent to ${task.payload.phone} under fence ${task.fence}`,
};
const [queue, slots] = (process.argv[2] ?? "default=10").split("="), base = `${process.env.ROTA_URL ?? "http://127.0.0.1:8300"}/v1/sessions`;
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ROTA_TOKEN}` };
async function ask(path, body, signal) { // the same request, until its answer is definite
  for (let wait = 100; ; wait = Math.min(wait * 2, 5000)) {
    const answer = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body), signal })
      .then(async (got) => ({ status: got.status, json: await got.json(), after: got.headers.get("retry-after") })).catch(() => null);
    signal?.throwIfAborted();
    if (answer?.status < 300) return answer.json;
    if ([404, 410].includes(answer?.status)) throw new Error(answer.json.detail);
    if (answer?.status < 500 && answer.status !== 429) // the key or this worker is wrong: no repeat mends that
      console.error(`worker: ${answer.json.detail}`), process.exit([401, 403].includes(answer.status) ? 4 : 2);
    await pause(Math.max(wait / 2, 1000 * (answer?.after ?? 0)) * (1 + Math.random()));
  }
}
let draining = false; // claims no more, and ends once its handlers have
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => (draining = true));
while (!draining) {
  const name = `${process.pid}-${Date.now()}`, held = new Map(), done = [], avoid = new Set(), over = new AbortController();
  const kinds = Object.keys(handlers), sent = performance.now();
  const opened = await ask("", { request_id: name, name, queues: [queue], kinds, slots: +slots });
  const my = (verb, body) => ask(`/${opened.session}/${verb}`, body, over.signal);
  console.log(`worker: session ${opened.session} takes ${queue} (${slots} at once)`);
  let trusted = sent + (opened.lease - opened.margin) * 1000; // counted from when it was asked for
  const watch = setInterval(() => performance.now() > trusted && over.abort(), 200);
  const beat = setInterval(async () => {
    const asked = performance.now(), heard = await my("heartbeat", { held: held.size + done.length }).catch(() => over.abort());
    if (!heard) return;
    trusted = asked + (heard.lease_left - opened.margin) * 1000;
    draining ||= heard.state !== "active";
    for (const { id } of [...heard.cancel, ...heard.lost]) held.get(id)?.abort();
  }, opened.heartbeat_every * 1000);
  const run = async (task) => {
    const stop = new AbortController(), ended = { id: task.id, fence: task.fence, outcome: "completed" };
    if (held.has(task.id) || done.some(({ id }) => id === task.id)) return; // a repeated answer names it again
    if (!handlers[task.kind]) return avoid.add(task.kind), done.push({ ...ended, outcome: "released" });
    held.set(task.id, stop);
    try {
      ended.result = (await handlers[task.kind](task, AbortSignal.any([stop.signal, over.signal]))) ?? null;
    } catch ({ name: type, message, stack: traceback }) {
      Object.assign(ended, stop.signal.aborted ? { outcome: "cancelled" } : { outcome: "failed", error: { type, message, traceback } });
    }
    done.push(ended), held.delete(task.id);
  };
  try {
    for (let request = 1; !draining || held.size || done.length; ) {
      if (done.length) await my("finish", { items: done.splice(0, 500) }); // every verdict is final
      const free = draining ? 0 : slots - held.size;
      if (free < 1) { await pause(20); continue; }
      const claim = { request: request++, queues: [queue], slots: free, avoid: [...avoid], wait_s: held.size || done.length ? 0.05 : 5 };
      for (const task of (await my("claim", claim)).tasks) run(task);
    }
    await my("close", {});
  } catch (error) { over.abort(), console.error(`worker: ${error.message}`); // what was held runs elsewhere now
  } finally { clearInterval(beat), clearInterval(watch); }
}
