// Findings: what makes the latency vary, one cause each, with what helps.

const GIVES_UP = { durability: "gives up durability", isolation: "gives up isolation" };

const adviceList = (advice) => el("ul", {}, advice.map((one) => el("li", {},
  one.gives_up ? el("b", { class: "worse" }, `${GIVES_UP[one.gives_up]}: `) : null, one.what,
  el("div", { class: "soft" }, `Costs: ${one.costs}. Source: `, ...linked(one.source)))));

// Advice is shown once: a later finding with the same advice refers to the first.
const helps = (findings, i) => {
  const { advice } = findings[i];
  if (!advice) return null;
  const told = JSON.stringify(advice);
  const first = findings.findIndex((other) => JSON.stringify(other.advice) === told);
  return first < i ? el("p", { class: "soft" }, `What helps: as for finding ${first + 1}.`)
    : el("details", { open: i === 0 }, el("summary", {}, "What helps"), adviceList(advice));
};

const findingPanel = (finding, sentences, help, i) => el("div", { class: "finding" },
  el("h3", {}, `${i + 1}. `, el("span", { class: "mono" }, finding.headline), " ", tag(finding.kind), " ",
    el("b", {}, percent(finding.share)), " ", el("small", {}, error(finding.se))),
  finding.chain ? el("p", {}, el("b", {}, `${keepUnits(finding.chain.says)}.`)) : null,
  el("p", {}, keepUnits(sentences.join(" "))),
  finding.check ? el("p", {}, el("b", {}, "Check: "), finding.check) : null,
  help);

const findingsSection = (profile, words) => !profile.findings?.length ? null
  : section("Findings", "What makes the latency vary, one cause each. Shares of the variance do not overlap.",
    profile.findings.map((finding, i) => findingPanel(finding, words[i], helps(profile.findings, i), i)),
    el("p", { class: "soft" }, `${percent(profile.uncovered.share)} ${error(profile.uncovered.se)} is unattributed.`),
    (profile.trades ?? []).map((trade) => el("p", {}, el("span", { class: "mono" }, trade.functions.join(" and ")),
      ` trade: where one takes longer the other takes less, which reduces the variance by ${percent(-trade.contribution)} ${error(trade.se)}.`)));

// Why a node differs between the slowest and the middle.
const difference = (node) => {
  const [more, longer] = [Math.abs(node.more_often_ns), Math.abs(node.longer_ns)];
  if (node.part < 0) return "less";
  if (node.only_slow) return "only slow";
  return more >= 3 * longer ? "more often" : longer >= 3 * more ? "longer" : "both";
};

const cohortTable = (nodes) => sortableTable([
  { title: "Of the gap", numeric: true, value: (n) => n.part, cell: (n) => el("b", {}, percent(n.part)) },
  { title: "Slow", numeric: true, value: (n) => n.slow_ns, cell: (n) => duration(n.slow_ns) },
  { title: "Middle", numeric: true, value: (n) => n.middle_ns, cell: (n) => duration(n.middle_ns) },
  { title: "Calls, slow", numeric: true, value: (n) => n.slow_calls, cell: (n) => n.slow_calls.toFixed(2) },
  { title: "Calls, middle", numeric: true, value: (n) => n.middle_calls, cell: (n) => n.middle_calls.toFixed(2) },
  { title: "Why", value: difference, cell: difference },
  { title: "Where", value: (n) => n.path, cell: (n) => el("span", { class: "mono" }, n.path) },
], nodes, (n) => Math.abs(n.part) < SMALL);

const cohortsSection = ({ cohorts }) => !cohorts ? null
  : closedSection("Slow against fast", `The slowest ${count(cohorts.slow.intervals)} intervals (mean ${duration(cohorts.slow.mean_ns)}) against the ${count(cohorts.middle.intervals)} in the middle (mean ${duration(cohorts.middle.mean_ns)}): what makes up the gap between their means.`,
    () => [cohortTable(cohorts.causes), el("details", {}, el("summary", {}, "By call path"), cohortTable(cohorts.nodes))]);
