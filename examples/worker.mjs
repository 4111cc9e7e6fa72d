// A worker of Rota in sixty lines of Node.js, with nothing but its standard library:
//   ROTA_URL=http://localhost:8300 ROTA_TOKEN=rota_… node worker.mjs sms=20
const handlers = {
  async send_result(task, signal) {
    return `sent to ${task.payload.phone} under fence ${task.fence}`;
  },
};
const [queue, slots] = (process.argv[2] ?? "default=10").split("=");
const base = `${process.env.ROTA_URL ?? "http://127.0.0.1:8300"}/v1/sessions`;
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ROTA_TOKEN}` };
const pause = (ms) => new Promise((then) => setTimeout(then, ms));
async function ask(path, body, signal) { // the same request, until its answer is definite
  for (let wait = 100; ; wait = Math.min(wait * 2, 5000)) {
    const answer = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body), signal })
      .then(async (got) => ({ status: got.status, json: await got.json() }), () => null);
    signal?.throwIfAborted();
    if ([401, 403].includes(answer?.status)) console.error(answer.json.detail), process.exit(4);
    if ([404, 410].includes(answer?.status)) throw new Error("the session is over");
    if (answer && answer.status < 500 && answer.status !== 429) return answer.json;
    await pause(wait * (0.5 + Math.random() / 2));
  }
}
let draining = false;
process.on("SIGTERM", () => (draining = true));
while (!draining) {
  const name = `${process.pid}-${Date.now()}`, held = new Map(), done = [], over = new AbortController();
  const sent = performance.now();
  const opened = await ask("", { request_id: name, name, queues: [queue], kinds: Object.keys(handlers), slots: +slots });
  const my = (verb, body) => ask(`/${opened.session}/${verb}`, body, over.signal);
  let trusted = sent + (opened.lease - opened.margin) * 1000; // counted from when it was asked for
  const watch = setInterval(() => performance.now() > trusted && over.abort(), 200);
  const beat = setInterval(async () => {
    const asked = performance.now(), heard = await my("heartbeat", { held: held.size }).catch(() => over.abort());
    if (!heard) return;
    trusted = asked + (heard.lease_left - opened.margin) * 1000;
    draining ||= heard.state !== "active";
    for (const { id } of heard.cancel) held.get(id)?.abort();
  }, opened.heartbeat_every * 1000);
  const run = async (task) => {
    const stop = new AbortController(), ended = { id: task.id, fence: task.fence, outcome: "completed" };
    held.set(task.id, stop);
    try {
      ended.result = (await handlers[task.kind](task, AbortSignal.any([stop.signal, over.signal]))) ?? null;
    } catch ({ name: type, message, stack: traceback }) {
      Object.assign(ended, stop.signal.aborted ? { outcome: "cancelled" } : { outcome: "failed", error: { type, message, traceback } });
    }
    held.delete(task.id), done.push(ended);
  };
  try {
    for (let request = 1; !draining || held.size || done.length; ) {
      if (done.length) await my("finish", { items: done.splice(0, 500) }); // every verdict is final
      const free = draining ? 0 : slots - held.size;
      if (free < 1) { await pause(20); continue; }
      const claim = { request: request++, queues: [queue], slots: free, wait_s: held.size || done.length ? 0.05 : 5 };
      for (const task of (await my("claim", claim)).tasks) if (!held.has(task.id)) run(task);
    }
    await my("close", {});
  } catch (error) { over.abort(), console.error(`worker: ${error.message}`); } // it all runs elsewhere now
  clearInterval(beat), clearInterval(watch);
}
