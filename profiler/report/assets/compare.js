// The page of two profiles side by side.
const before = data("before");
const after = data("after");
const changes = data("changes");

const latencyTable = () => {
  const cells = (row) => [row.name === "sd" ? "Standard deviation" : row.name === "mean" ? "Mean" : percentile(row.name),
    duration(row.before_ns), duration(row.after_ns),
    el("span", { class: row.after_ns > row.before_ns ? "worse" : "good" }, row.change_fraction === null ? ABSENT : signed(row.change_fraction)),
    row.before_ns > 0 ? `${(row.after_ns / row.before_ns).toFixed(2)}x` : ABSENT];
  return scrolling("Latency", el("table", { style: { maxWidth: "680px" } },
    el("thead", {}, el("tr", {}, ["Latency", "Before", "After", "Change", "Ratio"].map((t, i) => el("th", { class: i > 0 && "num", scope: "col" }, t)))),
    el("tbody", {}, el("tr", {}, el("td", {}, "Intervals"), changes.intervals.map((n) => el("td", { class: "num" }, count(n))), el("td"), el("td")),
      changes.latency.map((row) => el("tr", {}, cells(row).map((cell, i) => el("td", { class: i > 0 && "num" }, cell)))))));
};

const flames = () => {
  const details = detailsBox();
  const pair = [["Before", before], ["After", after]].map(([title, profile]) => {
    const flame = new Flame(profile.tree, { details, label: `${title}: variance flame graph`, order: byName });
    flame.title = `${title}: standard deviation ${duration(profile.sd_ns)}`;
    flame.profile = profile;
    return flame;
  });
  // In one unit, what shrank looks smaller: ns² for the variance, ns for the mean, and for a tail the ns by which its
  // percentile exceeds the mean.
  const size = (profile, mode) => mode === "share" ? profile.variance_ns2 : mode === "mean" ? profile.mean_ns
    : Math.max(0, (profile.percentiles_ns[mode] ?? 0) - profile.mean_ns);
  const scale = (by) => {
    for (const flame of pair) {
      flame.size = by === "both" ? () => size(flame.profile, flame.modeName) : () => 1;
      flame.peers = by === "both" ? pair : [flame];
    }
    for (const flame of pair) flame.draw();
  };
  scale("both");
  const extra = choice("Scale of the two graphs", [["both", "To scale"], ["each", "Each 100 %"]], "both", scale);
  return flamePanel(pair, details, [extra]);
};

const MATCH = { site: "", name: "moved", before_only: "only before", after_only: "only after" };
const changed = (change, text) => el("span", { class: change.significant ? "" : "soft" }, text);
const arrow = (change, unit) => `${unit(change.before)} → ${unit(change.after)}`;

// The root and the last three callers; the whole path, with its call sites, is the cell's title.
const callersOf = (n) => {
  const callers = n.names.slice(0, -1);
  const shown = callers.length > 5 ? [callers[0], "…", ...callers.slice(-3)] : callers;
  return shown.length === 0 ? "" : `in ${shown.join(" > ")}${n.site_before ?? n.site_after ? ` [${n.site_before ?? n.site_after}]` : ""}`;
};

const changeTable = () => {
  let callers = false;
  const host = el("div");
  const draw = () => host.replaceChildren(sortableTable([
    { title: "Change in % of variance before", numeric: true, value: (n) => Math.abs(n.change_of_variance), cell: (n) => el("span", {},
      el("b", { class: n.change_of_variance > 0 ? "worse" : "good" }, signed(n.change_of_variance)), " ", el("small", {}, error(n.change_of_variance_se))) },
    { title: "Beyond 2 se", value: (n) => n.contribution_ns2.significant ? "yes" : "no", cell: (n) => n.contribution_ns2.significant ? "yes" : el("span", { class: "soft" }, "no") },
    { title: "Call", value: (n) => n.names[n.names.length - 1], cell: (n) => el("div", { class: "text" }, el("b", { class: "mono" }, n.names[n.names.length - 1]),
      MATCH[n.matched] ? el("span", { class: "soft" }, ` ${MATCH[n.matched]}`) : null, el("div", { class: "mono soft", title: n.path }, callersOf(n))) },
    { title: "Share", numeric: true, value: (n) => n.share.change, cell: (n) => changed(n.share, `${arrow(n.share, percent)} ${error(n.share.se)}`) },
    { title: "Mean", numeric: true, value: (n) => n.mean_ns.change, cell: (n) => changed(n.mean_ns, `${arrow(n.mean_ns, duration)} ±${duration(n.mean_ns.se)}`) },
    { title: "Std deviation's worth", numeric: true, value: (n) => n.contribution_ns2.after, cell: (n) => arrow(n.contribution_ns2, (v) => duration(Math.sign(v) * Math.sqrt(Math.abs(v)))) },
  ], changes.nodes.filter((n) => (callers || !n.passes_on) && (n.contribution_ns2.before !== 0 || n.contribution_ns2.after !== 0))));
  draw();
  return el("div", {}, el("div", { class: "bar" }, choice("Rows", [["few", "What changed"], ["all", "Its callers too"]], "few", (which) => { callers = which === "all"; draw(); })), host);
};

const cameAndWent = () => {
  const rows = changes.factors.filter((f) => f.in_before !== f.in_after);
  if (rows.length === 0) return null;
  return section("Factors that came or went", "Named in one profile only; in the other they contribute too little to be listed.", sortableTable([
    { title: "Came or went", value: (f) => f.in_after ? "came" : "went", cell: (f) => f.in_after ? "came" : "went" },
    { title: "Change, of variance before", numeric: true, value: (f) => f.change_of_variance, cell: (f) => `${signed(f.change_of_variance)} ${error(f.change_of_variance_se)}` },
    { title: "Factor", value: factorName, cell: (f) => el("b", { class: "mono" }, factorName(f)) },
  ], rows));
};

const findingChanges = () => changes.findings.length === 0 ? null
  : section("Findings", "Causes of the latency's varying, as percentages of the variance before.", sortableTable([
    { title: "Before", numeric: true, value: (f) => f.before_fraction, cell: (f) => f.in_before ? percent(f.before_fraction) : "" },
    { title: "After", numeric: true, value: (f) => f.after_fraction, cell: (f) => f.in_after ? percent(f.after_fraction) : "" },
    { title: "Change", numeric: true, value: (f) => f.change_of_variance, cell: (f) => `${signed(f.change_of_variance)} ${error(f.change_of_variance_se)}` },
    { title: "Finding", value: (f) => f.headline, cell: (f) => el("b", { class: "mono" }, f.headline) },
  ], changes.findings));

document.title = `${after.interval}, before and after: Evenkeel`;
document.getElementById("page").append(...[
  el("header", {}, el("h1", {}, "Before and after: ", el("span", { class: "mono", style: { fontSize: "20px" } }, after.interval)),
    el("div", { class: "command mono" }, after.target)),
  ...changes.warnings.map((warning) => el("p", { class: "note" }, warning)),
  el("p", {}, el("b", {}, keepUnits(changes.summary))),
  latencyTable(),
  findingChanges(),
  section("Variance flame graphs", "Width is a call's share; drawn to scale, the narrower graph has the smaller variance (or mean, or tail).", flames()),
  section("What changed", "Contribution to the variance in absolute terms, as a percentage of the variance before. Callers that only pass a change on are left out.", changeTable()),
  cameAndWent(),
  section("Latency before", null, histogram(before)), section("Latency after", null, histogram(after)),
].filter(Boolean));
