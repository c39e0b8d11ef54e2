// Latency over time as a heat map, with what each stretch of time is made of below it. A stretch is chosen by dragging, or by two sliders.
//
// What columns hold are sums, so that of a chosen stretch everything is exact: with n intervals, latencies L and times x of a finding, its
// share is (sum of xL - sum of x sum of L / n) / (sum of L^2 - (sum of L)^2 / n).
const TIME = { width: 1280, left: 78, right: 8, heat: 220, gap: 26, strip: 110, bottom: 22 };
// A stretch with fewer intervals says nothing of shares.
const TIME_FEW = 20;
const TIME_REST = "Unattributed";

// Columns from one number to another, as one.
const together = (columns, from, to) => {
  const sum = { intervals: 0, latency_ns: 0, squares_ns2: 0, cells: new Map(), findings: columns[0].findings.map(() => [0, 0]) };
  for (const column of columns.slice(from, to + 1)) {
    sum.intervals += column.intervals;
    sum.latency_ns += column.latency_ns;
    sum.squares_ns2 += column.squares_ns2;
    for (const [cell, n] of column.cells) sum.cells.set(cell, (sum.cells.get(cell) ?? 0) + n);
    for (const [i, [time, product]] of column.findings.entries()) { sum.findings[i][0] += time; sum.findings[i][1] += product; }
  }
  return sum;
};
const varianceOf = (sum) => sum.squares_ns2 - sum.latency_ns * sum.latency_ns / sum.intervals;
// Shares of the variance, and of what is in no finding at last; nothing where too few intervals vary.
const sharesOf = (sum) => {
  const whole = varianceOf(sum);
  if (sum.intervals < TIME_FEW || !(whole > 0)) return null;
  const shares = sum.findings.map(([time, product]) => (product - time * sum.latency_ns / sum.intervals) / whole);
  return [...shares, 1 - shares.reduce((a, b) => a + b, 0)];
};
// The latency that this part of the intervals does not exceed, within its cell.
const quantileOf = (sum, bounds, part) => {
  let left = part * sum.intervals;
  for (const [cell, n] of [...sum.cells].sort((a, b) => a[0] - b[0])) {
    if (n >= left) return bounds[cell] + (bounds[cell + 1] - bounds[cell]) * left / n;
    left -= n;
  }
  return null;
};

// -> a moment of the run as it is shown.
const clockOf = (time) => (ns) => time.began_unix_ns
  ? new Date((time.began_unix_ns + ns) / 1e6).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" }) : duration(ns);

const timePanel = (profile) => {
  const { columns, bounds_ns: bounds } = profile.over_time, last = columns.length - 1;
  const names = [...profile.findings.map((one) => one.headline), TIME_REST];
  const end = columns[last].to_ns, clock = clockOf(profile.over_time);
  const x = (ns) => TIME.left + ns / end * (TIME.width - TIME.left - TIME.right);
  const low = Math.log2(bounds[0]), high = Math.log2(bounds[bounds.length - 1]);
  const y = (ns) => TIME.heat - (Math.log2(ns) - low) / (high - low || 1) * (TIME.heat - 8);
  const top = TIME.heat + TIME.gap, height = top + TIME.strip + TIME.bottom;
  const most = Math.max(...columns.flatMap((one) => one.cells.map(([, n]) => n)));

  const heat = columns.flatMap((one) => one.cells.map(([cell, n]) => {
    const box = svg("rect", { class: "heat", x: x(one.from_ns), width: Math.max(1, x(one.to_ns) - x(one.from_ns)), y: y(bounds[cell + 1]),
      height: Math.max(1, y(bounds[cell]) - y(bounds[cell + 1])), "fill-opacity": 0.08 + 0.92 * Math.log1p(n) / Math.log1p(most) });
    box.append(svg("title", {}, `${clock(one.from_ns)}: ${count(n)} intervals of ${duration(bounds[cell])} to ${duration(bounds[cell + 1])}`));
    return box;
  }));
  const strips = columns.flatMap((one) => {
    const shares = sharesOf(one);
    if (!shares) return [];
    const whole = shares.reduce((sum, share) => sum + Math.max(share, 0), 0);
    let at = top + TIME.strip;
    return shares.map((share, i) => {
      const tall = Math.max(share, 0) / whole * TIME.strip;
      at -= tall;
      const bar = svg("rect", { class: i < names.length - 1 ? `part-${i % 8}` : "part-rest", x: x(one.from_ns), width: Math.max(1, x(one.to_ns) - x(one.from_ns)), y: at, height: tall });
      bar.append(svg("title", {}, `${clock(one.from_ns)}: ${percent(share)} ${names[i]}`));
      return bar;
    });
  });
  const ticks = [];
  for (let decade = 0; decade <= 12; decade += 1) {
    const at = Math.log2(10 ** decade);
    if (at >= low && at <= high) ticks.push(svg("text", { x: TIME.left - 6, y: y(10 ** decade) + 4, "text-anchor": "end" }, duration(10 ** decade).replace(/\.0+(?=\D)/, "")));
  }
  for (let i = 0; i <= 4; i += 1) ticks.push(svg("text", { x: x(end * i / 4), y: height - 5, "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle" }, clock(end * i / 4)));
  ticks.push(svg("text", { x: TIME.left, y: top - 6 }, "what the variance of each stretch is made of"));

  const brush = svg("rect", { class: "brush", y: 0, height: top + TIME.strip });
  const drawing = svg("svg", { viewBox: `0 0 ${TIME.width} ${height}`, role: "img", "aria-label": "Latency over time, and findings' shares below it" }, ...heat, ...strips, ...ticks, brush);
  const chosen = state.get("time").split("-").map(Number);
  const range = chosen.length === 2 && chosen.every((at) => Number.isInteger(at) && at >= 0 && at <= last) ? chosen.sort((a, b) => a - b) : [0, last];
  const table = el("div", {});
  const slider = (label, which) => el("input", { type: "range", min: 0, max: last, step: 1, value: range[which], "aria-label": label,
    oninput: (event) => { range[which] = Number(event.target.value); draw(which); } });
  const sliders = [slider("From", 0), slider("Until", 1)];
  const all = together(columns, 0, last), sharesOfAll = sharesOf(all);

  // `moved`: the end that is kept where the other is beyond it.
  const draw = (moved) => {
    if (range[0] > range[1]) range[1 - moved] = range[moved];
    for (const [i, one] of sliders.entries()) {
      one.value = range[i];
      one.setAttribute("aria-valuetext", clock(i === 0 ? columns[range[0]].from_ns : columns[range[1]].to_ns));
    }
    const from = columns[range[0]].from_ns, to = columns[range[1]].to_ns;
    brush.setAttribute("x", x(from));
    brush.setAttribute("width", Math.max(2, x(to) - x(from)));
    state.set("time", range[0] === 0 && range[1] === last ? "" : range.join("-"));
    const here = together(columns, ...range), shares = sharesOf(here);
    const p99 = quantileOf(here, bounds, 0.99);
    table.replaceChildren(
      el("p", { "aria-live": "polite" }, `${clock(from)} to ${clock(to)}: ${count(here.intervals)} intervals, mean ${duration(here.latency_ns / here.intervals)}, standard deviation ${duration(Math.sqrt(Math.max(0, varianceOf(here) / here.intervals)))}, p99 about ${duration(p99)}.`),
      shares ? sortableTable([
        { title: "Here", numeric: true, value: (one) => one.share, cell: (one) => percent(one.share) },
        { title: "In all", numeric: true, value: (one) => one.inAll ?? 0, cell: (one) => percent(one.inAll) },
        { title: "Mean time here", numeric: true, value: (one) => one.mean ?? 0, cell: (one) => duration(one.mean) },
        { title: "Finding", value: (one) => one.name, cell: (one) => el("span", {}, el("span", { class: `swatch ${one.color}` }), one.name) },
      ], names.map((name, i) => ({ name, share: shares[i], inAll: sharesOfAll?.[i], mean: here.findings[i] ? here.findings[i][0] / here.intervals : null,
        color: i < names.length - 1 ? `part-${i % 8}` : "part-rest" })))
        : el("p", { class: "soft" }, "Too few intervals, or none that differs from the others."));
  };

  // Dragging: from the column where it began to that where the pointer is.
  const columnAt = (event) => {
    const box = drawing.getBoundingClientRect();
    const ns = ((event.clientX - box.left) / box.width * TIME.width - TIME.left) / (TIME.width - TIME.left - TIME.right) * end;
    const found = columns.findIndex((one) => one.to_ns > ns);
    return found < 0 ? last : found;
  };
  let began = null;
  drawing.addEventListener("pointerdown", (event) => { began = columnAt(event); drawing.setPointerCapture(event.pointerId); });
  drawing.addEventListener("pointermove", (event) => {
    if (began === null) return;
    const at = columnAt(event);
    [range[0], range[1]] = [Math.min(began, at), Math.max(began, at)];
    draw(0);
  });
  for (const name of ["pointerup", "pointercancel"]) drawing.addEventListener(name, () => { began = null; });
  draw(0);
  return el("div", {}, el("div", { class: "bar" }, el("label", {}, "From ", sliders[0]), el("label", {}, "Until ", sliders[1]),
    el("button", { type: "button", onclick: () => { [range[0], range[1]] = [0, last]; draw(0); } }, "All")),
  scrolling("Latency over time", el("div", { class: "wide" }, drawing)), table);
};

const overTimeSection = (profile) => !profile.over_time ? null
  : closedSection("Over time", "Intervals by time and latency (logarithmic), darker where there are more, and below them what their variance is made of. Drag, or move the sliders, to see the shares of a stretch.",
    () => timePanel(profile));
