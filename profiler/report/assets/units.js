// Numbers as people read them. The same rules as the terminal's (src/units.rs); a unit stays on its number's line.
const ABSENT = "–";
const known = (x) => typeof x === "number" && Number.isFinite(x);

const duration = (ns) => {
  if (!known(ns)) return ABSENT;
  const units = ["ns", "µs", "ms", "s"];
  let value = ns, unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) { value /= 1e3; unit += 1; }
  const size = Math.abs(value);
  const decimals = unit === 0 && Number.isInteger(value) ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return `${value.toFixed(decimals)}\u00a0${units[unit]}`;
};
const percent = (x) => known(x) ? `${(Math.round(x * 1000) / 10 + 0).toFixed(1)}\u00a0%` : ABSENT;
const signed = (x) => known(x) && x >= 0 ? `+${percent(x)}` : percent(x);
const error = (se) => !known(se) || se <= 0 ? "" : se < 0.0005 ? "±<0.1" : `±${(se * 100).toFixed(1)}`;
const withError = (x, se) => `${percent(x)} ${error(se)}`.trim();
const count = (n) => known(n) ? String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ",") : ABSENT;
const calls = (m) => !known(m) ? ABSENT : m < 99.95 ? m.toFixed(2) : count(m);
const percentile = (name) => /^p\d{3,}$/.test(name) ? `p${name.slice(1, 3)}.${name.slice(3)}` : name;

const keepUnits = (text) => text.replace(/(\d) (?=(?:%|ns|µs|ms|s)(?:[ ,.;:)]|$))/g, "$1\u00a0");

const KINDS = { lock: "lock", io: "I/O", client: "client", timer: "timer", event: "event", call: "call", body: "own code", probe: "probe",
  socket: "socket or pipe", idle: "idle by design", others: "others' work", helper: "helper thread", woken: "woken, not running", queued: "queued",
  turn: "waiting for its turn", preempted: "runnable, waiting for a CPU", asleep: "off-CPU", fault: "page fault", unseen: "not seen", not_opened: "not expanded" };
const DOING = { running: "running", off_processor: "runnable (waiting for a CPU)", blocked: "blocked on others' work", queued: "queued", device: "waiting for a device",
  fault: "waiting for a page", outside: "waiting for something outside", asleep: "off-CPU, waker unknown", idle: "idle by design", unknown: "not seen" };
const stepName = (node) => node.site ? `${node.name} [${node.site}]` : node.name;
const place = (node) => node.file ? node.file + (known(node.line) ? `:${node.line}` : "") : "";
