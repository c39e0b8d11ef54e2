// Views of intervals that are followed across threads: the time breakdown, waiters and wakers, and single intervals lane by lane.

// One bar for the time, one for the variance; the legend has the numbers.
const timeSpent = (doing) => {
  const bar = (title, value) => {
    const sum = doing.reduce((sum, line) => sum + Math.max(0, value(line)), 0) || 1;
    return el("div", {}, el("small", { class: "soft" }, title), el("div", { class: "stack", role: "img", "aria-label": title }, doing.filter((line) => value(line) > 0).map((line) =>
      el("span", { class: `doing-${line.doing}`, title: `${DOING[line.doing]}: ${percent(value(line))}`, style: { width: `${value(line) / sum * 100}%` } }))));
  };
  return el("div", {}, bar("Of the mean latency", (line) => line.fraction), bar("Of the variance", (line) => line.share),
    el("div", { class: "legend" }, doing.map((line) => el("span", {}, el("span", { class: `swatch doing-${line.doing}` }),
      `${DOING[line.doing] ?? line.doing}: ${percent(line.fraction)} of the time, ${percent(line.share)} of the variance`))));
};

const waitTable = (waits) => sortableTable([
  { title: "Of variance", numeric: true, value: (w) => w.share, cell: (w) => el("b", {}, percent(w.share)) },
  { title: "Total", numeric: true, value: (w) => w.total_ns, cell: (w) => duration(w.total_ns) },
  { title: "Waits", numeric: true, value: (w) => w.count, cell: (w) => count(w.count) },
  { title: "Mean", numeric: true, value: (w) => w.mean_ns, cell: (w) => duration(w.mean_ns) },
  { title: "Waits in", value: (w) => w.waiter, cell: (w) => el("span", { class: "mono", title: w.waiter_calls.join(" > ") }, w.waiter_calls.length > 0 ? w.waiter_calls.join(" > ") : w.waiter) },
  { title: "For", value: (w) => w.object, cell: (w) => el("span", {}, tag(w.kind), ` ${w.object}`,
    w.objects > 1 || w.more_objects ? el("small", {}, ` ${w.objects}${w.more_objects ? " or more" : ""} of them, longest ${w.longest_object}`) : null) },
  { title: "Ended by", value: (w) => w.holder ?? "", cell: (w) => w.holder === null ? el("span", { class: "soft" }, "waker unknown") : el("span", {}, w.holder) },
  { title: "In", value: (w) => w.holder_calls.join(" > "), cell: (w) => el("span", { class: "mono" }, w.holder_calls.join(" > ")) },
], waits, (w) => Math.abs(w.share) < SMALL);

// One interval: a lane a thread, the latency as wide as the lanes. What is pointed at is described below.
const lanes = (timeline) => {
  const described = el("div", { class: "details", style: { minHeight: "70px" }, "aria-live": "polite" }, el("p", { class: "soft" }, "Point at a piece, or reach it with Tab, to see where it was."));
  const describe = (span) => described.replaceChildren(el("div", {}, tag(span.kind), " ", el("b", { class: "mono" }, span.name),
    `  from ${duration(span.from_ns)} for ${duration(span.to_ns - span.from_ns)} on ${timeline.lanes[span.lane]}`), el("div", { class: "path mono" }, span.path));
  const piece = (span) => {
    const part = (span.to_ns - span.from_ns) / (timeline.latency_ns || 1) * 100;
    return el("button", { type: "button", class: `kind-${span.kind}`, "aria-label": `${span.name}, ${duration(span.to_ns - span.from_ns)}`,
      style: { left: `${span.from_ns / (timeline.latency_ns || 1) * 100}%`, width: `${part}%`, padding: part < 2 ? "0" : null },
      onmouseenter: () => describe(span), onfocus: () => describe(span), onclick: () => describe(span) }, part < 2 ? "" : span.name);
  };
  return el("div", {}, el("p", { class: "soft" }, `Interval ${timeline.id}, ${timeline.class === "(no label)" ? "" : `${timeline.class}, `}${duration(timeline.latency_ns)}`,
    Object.entries(timeline.attributes ?? {}).map(([name, value]) => `, ${name} ${value}`).join(""),
    timeline.is_cut ? "; its beginning has too many pieces to be shown" : ""),
  el("div", { class: "lanes" }, timeline.lanes.flatMap((name, lane) => [el("span", { class: "mono lane-name" }, name),
    el("div", { class: "lane" }, timeline.spans.filter((span) => span.lane === lane).map(piece))])), described);
};

// The slowest intervals of the run.
const slowestTable = (slowest) => sortableTable([
  { title: "Rank", numeric: true, value: (slow) => slow.rank, cell: (slow) => count(slow.rank) },
  { title: "Began", numeric: true, value: (slow) => slow.begin_ns, cell: (slow) => slow.unix_ns
    ? el("span", { title: `${duration(slow.since_ns)} after the first interval` }, new Date(slow.unix_ns / 1e6).toISOString().slice(11, 23)) : duration(slow.since_ns) },
  { title: "Latency", numeric: true, value: (slow) => slow.latency_ns, cell: (slow) => el("b", {}, duration(slow.latency_ns)) },
  { title: "Class", value: (slow) => slow.class, cell: (slow) => slow.class === "(no label)" ? "" : slow.class },
  { title: "Where its time went", value: (slow) => slow.top[0]?.name ?? "", cell: (slow) => el("span", { class: "mono" }, slow.top.map((part, at) =>
    el("span", { title: part.path }, `${at > 0 ? ", " : ""}${part.name} ${duration(part.own_ns)}`))) },
], slowest.map((slow, at) => ({ ...slow, rank: at + 1 })), (slow) => slow.rank > 10);

const timelinePanel = (timelines) => {
  const host = el("div", {});
  const pick = (name) => host.replaceChildren(lanes(timelines.find((timeline) => timeline.pick === name)));
  pick(timelines[0].pick);
  return el("div", {}, el("div", { class: "bar" }, choice("Which interval", timelines.map(({ pick }) => [pick, pick === "max" ? "slowest" : pick]), timelines[0].pick, pick)), host);
};
