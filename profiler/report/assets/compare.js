// The page of recordings before and after a change.
const changes = data("changes");
const tree = data("tree");

const TOLD = { better: "good", worse: "worse" };
const verdict = (row) => el("span", { class: TOLD[row.verdict] ?? "soft", title: row.why ?? "" },
  row.why ? `${row.verdict}: ${row.why}` : row.verdict);
const interval = (row) => row.low === null ? "" : `${signed(row.low)} to ${signed(row.high)}`;
const changeOf = (row) => row.change === null ? ABSENT : signed(row.change);
const rowName = (row) => row.kind === "call" ? row.function : row.what === "sd" ? "Standard deviation" : percentile(row.what);

const rowsTable = (first, rows, name) => scrolling(first || "Rows", el("table", {},
  el("thead", {}, el("tr", {}, [first, "Before", "After", "Change", "95 % interval", "Verdict"].map((t, i) =>
    el("th", { class: i > 0 && i < 5 && "num", scope: "col" }, t)))),
  el("tbody", {}, rows.map((row) => el("tr", {}, el("td", { class: "text" }, name(row)),
    [row.before, row.after].map((ns) => el("td", { class: "num" }, ns === null ? ABSENT : duration(ns))),
    el("td", { class: "num" }, changeOf(row)), el("td", { class: "num" }, interval(row)), el("td", {}, verdict(row)))))));

const partName = (row) => el("div", {}, el("b", { class: "mono" }, rowName(row)), el("span", { class: "soft" },
  row.of === "all" ? " mean interval" : " slowest 1 %"),
  row.callers ? el("div", { class: "mono soft", title: row.what }, `in ${row.callers.slice(-3).join(" > ")}`) : null);

// One flame graph of both sides (differential flame graphs, Gregg 2014). A frame is as wide as its time after (or
// before). Red frames grew, and blue ones shrank. Grey: no difference is told.
class DifferenceFlame extends Flame {
  box(place, first) {
    const button = super.box(place, first);
    const { node } = place.frame;
    const times = node[this.measure];
    const told = node[this.measure === "slow_ns" ? "slow_told" : "mean_told"];
    const grown = times[0] > 0 ? times[1] / times[0] - 1 : 1;
    // From a hint at 0 % to full at a doubling, or a halving.
    const strength = Math.min(1, 0.25 + 0.75 * (grown > 0 ? grown : -2 * grown));
    button.style.background = told === 0 ? "" : `color-mix(in srgb, var(--${told > 0 ? "grew" : "shrank"}) ${Math.round(100 * strength)}%, var(--unchanged))`;
    button.classList.add("difference", told > 0 ? "grew" : told < 0 ? "shrank" : "same");
    button.setAttribute("aria-label", `${node.name}, ${arrow(times)}${told > 0 ? ", grew" : told < 0 ? ", shrank" : ""}`);
    return button;
  }

  describe({ node }) {
    this.details.replaceChildren(el("div", {}, el("b", { class: "mono" }, node.name)), el("dl", { class: "facts" },
      [["Mean interval", arrow(node.mean_ns)], ["Slowest 1 %", arrow(node.slow_ns)], ["Call site", node.site || ABSENT]]
        .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
  }
}
const arrow = ([before, after]) => `${duration(before)} → ${duration(after)}`;

const differenceFlame = () => {
  const plain = (node) => ({ ...node, kind: "call", file: null, line: null, children: node.children.map(plain) });
  const details = detailsBox();
  const flame = new DifferenceFlame(plain(tree), { details, label: "Difference flame graph", order: byName });
  let side = 1;
  const show = (measure) => {
    flame.measure = measure;
    const whole = flame.tree[measure][side] || 1;
    flame.mode([measure, "", (node) => node[measure][side] / whole]);
    flame.draw();
  };
  const hasSlow = tree.slow_ns.some((ns) => ns > 0);
  show(hasSlow ? "slow_ns" : "mean_ns");
  const found = el("span", { class: "soft", role: "status" });
  const reset = el("button", { type: "button", class: "plain", disabled: true, onclick: () => flame.zoom(null) }, "Show all");
  flame.onzoom = (zoomed) => { reset.disabled = zoomed === null; };
  return el("div", {}, el("div", { class: "bar" },
    choice("Intervals", [...(hasSlow ? [["slow_ns", "Slowest 1 %"]] : []), ["mean_ns", "Mean interval"]], flame.measure, show),
    choice("Width of a frame", [[1, "After"], [0, "Before"]], 1, (which) => { side = which; show(flame.measure); }),
    reset, search("Find a function", (text) => { found.textContent = flame.find(text); }), found),
  el("div", { class: "legend" }, [["grew", "surely more"], ["shrank", "surely less"], ["same", "no difference told"]].map(([name, text]) =>
    el("span", {}, el("span", { class: `swatch difference ${name}` }), text))),
  flame.element, details);
};

const loadTable = () => {
  const { load } = changes;
  if (!load) return null;
  const figure = (name, of, text) => [name, text(of.before), text(of.after), of.change === null ? ABSENT : signed(of.change), interval(of)];
  const rows = [figure("Intervals a second", load.rate_per_s, (n) => n.toFixed(1)), figure("At once", load.concurrency, (n) => n.toFixed(2))];
  const mix = load.mean_change_ns;
  return section("Load", load.another ? "It is another load: latencies do not compare." : null,
    scrolling("Rows", el("table", {}, el("thead", {}, el("tr", {}, ["", "Before", "After", "Change", "95 % interval"].map((t, i) =>
      el("th", { class: i > 0 && "num", scope: "col" }, t)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, i) => el("td", { class: i > 0 && "num" }, cell))))))),
    mix ? el("p", { class: "soft" }, `Of the mean's change, ${duration(mix.mix)} are the mix of classes, ${duration(mix.within)} the classes themselves, ${duration(mix.both)} both.`) : null);
};

const differing = () => changes.options_differ.length === 0 ? null : section("What differs", "Between the recordings. Compared is what both timed.",
  scrolling("Rows", el("table", {}, el("thead", {}, el("tr", {}, ["", "Before", "After"].map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, changes.options_differ.map((one) => el("tr", {}, [one.what, one.before, one.after].map((cell) => el("td", { class: "text mono" }, cell))))))));

const kind = (...kinds) => changes.rows.filter((row) => kinds.includes(row.kind));
const told = kind("call").filter((row) => !row.passes_on && row.verdict in TOLD);

document.title = `${changes.interval}, before and after: Evenkeel`;
document.getElementById("page").append(...[
  el("header", {}, el("h1", {}, "Before and after: ", el("span", { class: "mono", style: { fontSize: "20px" } }, changes.interval))),
  el("p", {}, el("b", {}, keepUnits(changes.summary))),
  changes.outside ? el("p", { class: "note" }, `Before the interval, so not in these numbers: ${changes.outside}.`) : null,
  differing(), loadTable(),
  section("Latency", `${changes.intervals.map(count).join(" and ")} intervals in ${changes.recordings.join(" and ")} recordings.`,
    rowsTable("", kind("latency", "machine"), rowName)),
  tree ? section("Where the time went", "Width is a call's time with what it calls.", differenceFlame()) : null,
  kind("finding").length > 0 ? section("Findings", "What changes the slowest 1 % most comes first. Their times do not overlap.",
    rowsTable("Finding", kind("finding"), partName)) : null,
  section("Calls that changed", told.length > 0 ? "Time with what they call; callers that only pass a change on are left out." : "No difference is told of any.",
    told.length > 0 ? rowsTable("Call", told, partName) : null),
  ...changes.warnings.map((warning) => el("p", { class: "note" }, warning)),
].filter(Boolean));
