// The latency histogram on a logarithmic axis. Bins may differ in width, so a bar's area is its count: height is intervals
// per octave.
const PLOT = { width: 1280, height: 250, left: 12, right: 12, top: 62, bottom: 24 };

const histogram = (profile) => {
  const bins = profile.histogram.filter((bin) => bin.to_ns > bin.from_ns && bin.count > 0);
  if (bins.length === 0) return el("p", { class: "soft" }, "No latencies recorded.");
  // A first bin that begins at nought has no place on the axis; it is drawn one octave wide.
  const from = (bin) => bin.from_ns > 0 ? bin.from_ns : bin.to_ns / 2;
  const low = Math.log2(from(bins[0])), high = Math.log2(bins[bins.length - 1].to_ns);
  const x = (ns) => PLOT.left + (Math.log2(ns) - low) / (high - low || 1) * (PLOT.width - PLOT.left - PLOT.right);
  const density = (bin) => bin.count / Math.log2(bin.to_ns / from(bin));
  const host = el("div", {});
  const draw = (scale) => {
    const shape = scale === "log" ? (d) => Math.log10(1 + d) : (d) => d;
    const top = Math.max(...bins.map((bin) => shape(density(bin))));
    const base = PLOT.height - PLOT.bottom;
    const bars = bins.map((bin) => {
      const height = shape(density(bin)) / top * (base - PLOT.top);
      const bar = svg("rect", { class: "bin", x: x(from(bin)), width: Math.max(0.5, x(bin.to_ns) - x(from(bin)) - 0.7), y: base - height, height });
      bar.append(svg("title", {}, `${duration(bin.from_ns)} to ${duration(bin.to_ns)}: ${count(bin.count)} intervals`));
      return bar;
    });
    host.replaceChildren(svg("svg", { viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img",
      "aria-label": `Latency histogram of ${count(profile.intervals)} intervals` },
    ...bars, ...axis(low, high, x, base), ...markers(profile, x, base)));
  };
  draw("linear");
  return el("div", {}, el("div", { class: "bar" }, choice("Height", [["linear", "Linear"], ["log", "Logarithmic (shows the tail)"]], "linear", draw)),
    scrolling("Latency histogram", host));
};

const axis = (low, high, x, base) => {
  const parts = [svg("line", { class: "axis", x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: base, y2: base })];
  const decades = (high - low) * Math.log10(2);
  const steps = decades > 4 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 3, 5, 7];
  for (let decade = -1; decade <= 14; decade += 1) {
    for (const step of steps) {
      const ns = step * 10 ** decade, at = Math.log2(ns);
      if (at < low || at > high) continue;
      const anchor = at - low < 0.3 ? "start" : high - at < 0.3 ? "end" : "middle";
      parts.push(svg("line", { class: "axis", x1: x(ns), x2: x(ns), y1: base, y2: base + 5 }),
        svg("text", { x: x(ns), y: base + 18, "text-anchor": anchor }, duration(ns).replace(/\.0+(?=\D)/, "")));
    }
  }
  return parts;
};

// Percentiles and the mean as lines; a label goes to the first of four rows where it does not overlap another.
const markers = (profile, x, base) => {
  const lines = Object.entries({ mean: profile.mean_ns, ...profile.percentiles_ns }).filter(([, ns]) => known(ns) && ns > 0);
  lines.sort((a, b) => a[1] - b[1]);
  const ends = [-1, -1, -1, -1];
  return lines.flatMap(([name, ns]) => {
    const text = `${percentile(name)} ${duration(ns)}`, width = text.length * 7;
    // At the right edge the label stands before its line.
    const left = x(ns) + 4 + width > PLOT.width ? x(ns) - 4 - width : x(ns) + 4;
    const row = Math.max(0, ends.findIndex((end) => end < left));
    ends[row] = left + width + 6;
    const y = 12 + row * 14;
    return [svg("line", { class: "line", x1: x(ns), x2: x(ns), y1: y - 8, y2: base }), svg("text", { class: "mark", x: left, y }, text)];
  });
};
