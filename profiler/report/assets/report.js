// The page of one profile.
const profile = data("profile");
const words = data("words");

const header = () => {
  const measured = profile.overhead.measured_fraction;
  const percentiles = ["p50", "p90", "p95", "p99", "p999", "max"].filter((p) => p in profile.percentiles_ns);
  return el("header", {}, el("h1", {}, "Why the latency of ", el("span", { class: "mono", style: { fontSize: "20px" } }, profile.interval), " varies"),
    el("div", { class: "command mono" }, profile.target),
    el("div", { class: "figures" }, figure(count(profile.intervals), "intervals"), figure(duration(profile.mean_ns), "mean"),
      figure(duration(profile.sd_ns), "standard deviation"),
      percentiles.map((p) => figure(duration(profile.percentiles_ns[p]), percentile(p))),
      figure(profile.closure.max_abs_error_ticks === 0 ? "exact" : "BROKEN", "closure"),
      figure(percent(profile.overhead.estimated_fraction), "overhead, estimated"),
      measured === null ? null : figure(`${signed(measured)} ${error(profile.overhead.measured_se)}`, "overhead, measured")));
};

const warnings = () => [
  ...data("first").map((text) => el("p", { class: "note bad" }, `${text}.`)),
  profile.closure.max_abs_error_ticks === 0 ? null : el("p", { class: "note bad" },
    `The parts of an interval do not add up to its latency (by up to ${count(profile.closure.max_abs_error_ticks)} ticks): do not trust this profile.`),
  profile.outside ? el("p", { class: "note" }, `Outside of all intervals, so not in these numbers: ${profile.outside}.`) : null,
  ...profile.warnings.map((warning) => el("p", { class: "note" }, warning)),
];

const flames = () => {
  const details = detailsBox();
  return flamePanel([new Flame(profile.tree, { details, label: "Variance flame graph" })], details);
};

const classes = () => {
  const { between_fraction: between, within_fraction: within, classes } = profile.classes;
  if (classes.length === 0) return null;
  return closedSection("Classes", `${percent(between)} of the variance is between the means of classes, ${percent(within)} is among intervals of one class. Both columns add up to these.`,
    () => classTable(classes));
};

const attributes = () => profile.attributes ? closedSection("Attributes", "Numbers that the target set for its intervals, and the share of variance that each explains alone: by the mean of each value, or by a line if there are many values.",
  () => attributeTable(profile.attributes)) : null;

const conduct = () => {
  const discarded = Object.entries(profile.discarded_by_reason).sort((a, b) => b[1] - a[1]);
  const rows = (pairs) => el("table", {}, el("tbody", {}, pairs.map((cells) => el("tr", {}, cells.map((cell, i) => el("td", { class: i > 0 && "num" }, cell))))));
  const overhead = profile.overhead;
  return closedSection("How it was measured", null, () => el("div", { class: "columns" },
    el("div", {}, el("h3", {}, "Intervals"), rows([["Seen in the whole run", count(profile.intervals_seen)], [`In this profile (round ${profile.round || profile.rounds.length})`, count(profile.intervals)],
      ...(profile.sampled_out ? [["Skipped by sampling to stay within --max-overhead", count(profile.sampled_out)]] : []),
      ["Discarded", count(profile.discarded)], ...discarded.map(([reason, n]) => [`  ${reason}`, count(n)])])),
    el("div", {}, el("h3", {}, "Rounds of refinement"), sortableTable([
      { title: "Round", numeric: true, ascending: true, value: (r) => r.round, cell: (r) => String(r.round) },
      { title: "Probes", numeric: true, value: (r) => r.probes, cell: (r) => count(r.probes) },
      { title: "Intervals", numeric: true, value: (r) => r.intervals, cell: (r) => count(r.intervals) },
    ], profile.rounds.map((round, i) => ({ ...round, round: i + 1 })))),
    el("div", {}, el("h3", {}, "Cost and closure"), rows([["Cost of a probe", duration(overhead.probe_ns)], ["Estimated (cost times calls)", percent(overhead.estimated_fraction)],
      ["Measured (windows without probes)", overhead.measured_fraction === null ? (overhead.measured_se === null ? "not measured" : `too coarse (${error(overhead.measured_se)})`) : `${signed(overhead.measured_fraction)} ${error(overhead.measured_se)}`],
      ["Largest error of closure", `${count(profile.closure.max_abs_error_ticks)} ticks`], ["Intervals checked", count(profile.closure.intervals)]]))));
};

const slow = () => !profile.slow_stacks ? null
  : closedSection("Seen in stacks of slow intervals", `Where slow intervals stood while they lasted: ${count(profile.slow_stacks.stacks)} stacks of ${count(profile.slow_stacks.intervals)} intervals, the longest ${duration(profile.slow_stacks.longest_ns)}.`, () => sortableTable([
    { title: "Part", numeric: true, value: (p) => p.share, cell: (p) => percent(p.share) },
    { title: "Stacks", numeric: true, value: (p) => p.stacks, cell: (p) => count(p.stacks) },
    { title: "Intervals", numeric: true, value: (p) => p.intervals, cell: (p) => count(p.intervals) },
    { title: "Path", value: (p) => p.functions.join(" > "), cell: (p) => el("span", { class: "mono" }, p.functions.join(" > ")) },
  ], profile.slow_stacks.paths, (p) => p.share < SMALL));

const elsewhere = () => !profile.seen_elsewhere ? null
  : closedSection("Found in other rounds", "Paths that explained much of the variance while other calls were timed, each with the round that saw it.", () => sortableTable([
    { title: "Share", numeric: true, value: (p) => p.share, cell: (p) => `${percent(p.share)} ${error(p.se)}` },
    { title: "Mean", numeric: true, value: (p) => p.mean_ns, cell: (p) => duration(p.mean_ns) },
    { title: "Round", numeric: true, ascending: true, value: (p) => p.round, cell: (p) => String(p.round) },
    { title: "Intervals", numeric: true, value: (p) => p.intervals, cell: (p) => count(p.intervals) },
    { title: "Path", value: (p) => p.path, cell: (p) => p.path },
  ], profile.seen_elsewhere));

const unpatched = () => {
  if (profile.unpatched.length === 0) return null;
  const byReason = new Map();
  for (const { site, reason } of profile.unpatched) byReason.set(reason, [...(byReason.get(reason) ?? []), site]);
  return closedSection("Not timed", `${count(profile.unpatched.length)} call sites could not be timed; their time counts as their caller's own.`,
    () => [...byReason].sort((a, b) => b[1].length - a[1].length).map(([reason, sites]) => el("details", {},
      el("summary", {}, `${reason}: ${count(sites.length)}`), el("div", { class: "mono" }, sites.join(", ")))));
};

const unseen = () => !profile.unseen ? null
  : closedSection("Not seen", profile.unseen.length > 0 ? "Shares of the variance that were not split further." : "Nothing of half a percent of the variance or more.",
    () => profile.unseen.length > 0 ? sortableTable([
      { title: "Share", numeric: true, value: (u) => u.share, cell: (u) => `${percent(u.share)} ${error(u.se)}` },
      { title: "Where", value: (u) => u.name, cell: (u) => el("span", { class: "mono" }, u.name) },
      { title: "Why", value: (u) => u.why, cell: (u) => u.why },
    ], profile.unseen, (u) => Math.abs(u.share) < SMALL) : null);

const names = () => !profile.names ? null
  : closedSection("Names", "Functions without a symbol are shown by address; ~name is inferred from callers and callees.",
    () => profile.names.map((file) => el("p", {}, file)));

const waits = () => [
  profile.doing ? closedSection("Time breakdown", "Time of the critical path, so that parallel work counts once. What other threads did while the interval was blocked is in the flame graph below the wait.", () => timeSpent(profile.doing)) : null,
  profile.waits ? closedSection("Waiters and wakers", "Waits on critical paths, longest in total first.", () => waitTable(profile.waits)) : null,
];

// What this is and how much of it is known, in a line.
const answer = () => {
  const { uncovered, findings } = profile;
  if (!findings?.length || !uncovered) return null;
  const cover = `${percent(1 - uncovered.share)} ${error(uncovered.se)}`.trim();
  const causes = findings.length === 1 ? "One finding accounts" : `${count(findings.length)} findings account`;
  return el("p", {}, el("b", {}, keepUnits(`${causes} for ${cover} of the variance; the first is ${findings[0].headline}.`)));
};

const sections = () => [
  findingsSection(profile, data("findings")),
  slow(),
  section("Variance flame graph", "Width is the share of the latency's variance that a call accounts for; callees lie below their caller and add up to it.", flames()),
  overTimeSection(profile),
  cohortsSection(profile),
  profile.slowest || profile.timelines ? closedSection("Slowest intervals", "When each of them began, and where its time went; then single intervals, piece by piece.", () =>
    [profile.slowest ? slowestTable(profile.slowest) : null, profile.timelines ? timelinePanel(profile.timelines) : null]) : null,
  ...waits(),
  closedSection("Variance tree", null, () => treeTable(profile.tree)),
  closedSection("Factors", "Ranked by score: what a function contributes, weighted by how specific it is (deep in the call graph). Factors overlap and may add up to more than 100 %. ≈ marks a tie with the next. A chain of calls with the same contribution is one row.",
    () => profile.factors.length > 0 ? factorTable(profile, words) : el("p", {}, "None: no function contributes enough of the variance to be named.")),
  classes(), attributes(),
  closedSection("Latency", "Intervals by latency, logarithmic axis; equal areas hold equal numbers of intervals (linear height).", () => histogram(profile)),
  unseen(), unpatched(), elsewhere(), names(), conduct(),
].filter(Boolean);

document.title = `${profile.interval}: Evenkeel`;
const parts = sections();
document.getElementById("page").append(...[header(), answer(), ...warnings(), navigation(parts), ...parts].filter(Boolean));
