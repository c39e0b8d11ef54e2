// A table that sorts by the column whose head is pressed.

// Rows of less than this share are folded away at first.
const SMALL = 0.01;

// columns: [{ title, value(row) for sorting, cell(row) -> text or element, numeric }]; rows for which `isSmall` holds are folded away, unless all are.
const sortableTable = (columns, rows, isSmall = () => false) => {
  const body = el("tbody");
  let folds = rows.some((row) => !isSmall(row));
  const small = folds ? rows.filter(isSmall).length : 0;
  let sorted = rows;
  const fill = () => body.replaceChildren(...sorted.filter((row) => !folds || !isSmall(row)).map((row) =>
    el("tr", {}, columns.map((column) => el("td", { class: column.numeric && "num" }, column.cell(row))))));
  const heads = columns.map((column) => {
    const head = el("th", { class: column.numeric && "num", scope: "col" }, el("button", { type: "button", onclick: () => {
      // Numbers begin with the largest, names with A.
      const first = column.numeric && !column.ascending ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? (first === "ascending" ? "descending" : "ascending") : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const compare = (a, b) => typeof a === "string" ? a.localeCompare(b) : (known(a) ? a : -Infinity) - (known(b) ? b : -Infinity);
      sorted = [...rows].sort((a, b) => sign * compare(column.value(a), column.value(b)));
      fill();
    } }, column.title));
    return head;
  });
  fill();
  const table = scrolling(columns.map((column) => column.title).filter(Boolean).join(", "), el("table", {}, el("thead", {}, el("tr", {}, heads)), body));
  if (small === 0) return table;
  const unfold = el("button", { type: "button", class: "plain", onclick: () => { folds = false; fill(); unfold.remove(); } },
    `Show ${count(small)} more, each below ${percent(SMALL)}`);
  return el("div", {}, table, unfold);
};

// Nodes by path, as factors name them.
const nodesByPath = (tree) => {
  const nodes = new Map();
  const walk = (node, path) => {
    nodes.set(path, node);
    for (const child of node.children) walk(child, `${path} > ${stepName(child)}`);
  };
  walk(tree, stepName(tree));
  return nodes;
};

// The sum of a figure over a factor's paths, without those below another of them (recursion), whose time is in it.
const sumOver = (factor, nodes, figure) => {
  const outer = factor.paths.filter((path) => !factor.paths.some((other) => path.startsWith(`${other} > `)));
  const found = outer.map((path) => nodes.get(path)).filter(Boolean);
  return factor.kind === "covariance" || found.length === 0 ? null : found.reduce((sum, node) => sum + figure(node), 0);
};

// A factor's functions, as its row names them.
const factorName = (factor) => factor.caller ? `${factor.caller} > ${factor.functions[0]}` : factor.functions.join(" & ");

// Factors that are one chain of calls, each passing on what the next contributes, are one row: that of the first of them, which has the others.
const CHAIN = 0.1;
const chains = (factors) => {
  const heads = [];
  const above = (a, b) => a.paths.every((path) => b.paths.some((other) => other.startsWith(`${path} > `)));
  const isOf = (a, b) => a.kind !== "covariance" && b.kind !== "covariance" && a.paths.length > 0 && b.paths.length > 0 && (above(a, b) || above(b, a))
    && Math.abs(a.contribution - b.contribution) <= CHAIN * Math.max(Math.abs(a.contribution), Math.abs(b.contribution));
  for (const factor of factors) {
    const head = heads.find((other) => isOf(other, factor));
    if (head) head.chain.push(factor);
    else heads.push({ ...factor, chain: [] });
  }
  return heads;
};

const factorTable = (profile, words) => {
  const nodes = nodesByPath(profile.tree);
  const ranked = profile.factors.map((factor, i) => ({ ...factor, rank: i + 1, words: keepUnits(words[i]) }));
  const rows = chains(ranked).map((factor) => ({ ...factor,
    mean_ns: sumOver(factor, nodes, (node) => node.mean_ns), tail: sumOver(factor, nodes, (node) => node.tail_share.p99 ?? 0) }));
  const or = (value, text) => value === null ? "" : text(value);
  const tied = "Tied: its order against the next lies within the error";
  return sortableTable([
    { title: "Rank", numeric: true, ascending: true, value: (f) => f.rank,
      cell: (f) => f.tied_with_next ? el("span", { title: tied }, `${f.rank} ≈`) : String(f.rank) },
    { title: "Of variance", numeric: true, value: (f) => f.contribution,
      cell: (f) => el("span", {}, el("b", {}, percent(f.contribution)), " ", el("small", {}, error(f.se))) },
    { title: "Kind", value: (f) => f.kind === "covariance" ? "pair" : f.what,
      cell: (f) => f.kind === "covariance" ? el("span", { class: "tag pair" }, "pair") : tag(f.what) },
    { title: "What it means", value: factorName, cell: (f) => el("div", { class: "text" },
      el("b", { class: "mono" }, factorName(f)),
      el("div", { class: "words" }, f.words),
      f.chain.length === 0 ? null : el("details", {}, el("summary", { class: "soft" }, `${count(f.chain.length)} more of its chain of calls`),
        f.chain.map((other) => el("div", {}, `${other.rank}. ${percent(other.contribution)} ${error(other.se)} `, el("span", { class: "mono" }, factorName(other))))),
      (f.callers ?? []).length === 0 ? null : el("details", {}, el("summary", { class: "soft" }, "Called by"),
        f.callers.map((caller) => el("div", {}, `${percent(caller.contribution)} `, el("span", { class: "mono" }, caller.function)))),
      f.paths.length === 0 ? null : el("details", {}, el("summary", { class: "soft" }, f.paths.length === 1 ? "Call path" : `${f.paths.length} call paths`),
        f.paths.map((path) => el("div", { class: "mono" }, path)))) },
    { title: "Mean", numeric: true, value: (f) => f.mean_ns, cell: (f) => or(f.mean_ns, duration) },
    { title: "Tail p99", numeric: true, value: (f) => f.tail, cell: (f) => or(f.tail, percent) },
    { title: "Score", numeric: true, value: (f) => f.score, cell: (f) => known(f.score) ? f.score.toFixed(2) : ABSENT },
    { title: "Height", numeric: true, value: (f) => f.height, cell: (f) => String(f.height) },
  ], rows, (f) => Math.abs(f.contribution) < SMALL);
};

const classTable = (classes) => sortableTable([
  { title: "Class", value: (c) => c.name, cell: (c) => el("div", { class: "text" }, el("span", { class: "mono" }, c.name),
    c.top.length === 0 ? null : el("details", {}, el("summary", { class: "soft" }, "What varies within"),
      c.top.map((top) => el("div", {}, `${percent(top.share)}, mean ${duration(top.mean_ns)} `, el("span", { class: "mono soft" }, top.path))))) },
  { title: "Intervals", numeric: true, value: (c) => c.intervals, cell: (c) => count(c.intervals) },
  { title: "Mean", numeric: true, value: (c) => c.mean_ns, cell: (c) => duration(c.mean_ns) },
  { title: "Std deviation", numeric: true, value: (c) => c.sd_ns, cell: (c) => duration(c.sd_ns) },
  { title: "Within", numeric: true, value: (c) => c.within_fraction, cell: (c) => percent(c.within_fraction) },
  { title: "The mix", numeric: true, value: (c) => c.between_fraction, cell: (c) => percent(c.between_fraction) },
], classes);

const attributeTable = (attributes) => sortableTable([
  { title: "Attribute", value: (a) => a.name, cell: (a) => el("div", { class: "text" }, el("span", { class: "mono" }, a.name),
    a.values.length === 0 ? null : el("details", {}, el("summary", { class: "soft" }, "By value"),
      a.values.map((v) => el("div", {}, `${v.value}: mean ${duration(v.mean_ns)} in ${count(v.intervals)} intervals`)))) },
  { title: "Explains", numeric: true, value: (a) => a.explained, cell: (a) => el("span", {}, el("b", {}, percent(a.explained)), " ", el("small", {}, error(a.se))) },
  { title: "By", value: (a) => a.fit, cell: (a) => a.fit === "linear" ? "a line" : "value" },
  { title: "Correlation", numeric: true, value: (a) => a.correlation, cell: (a) => known(a.correlation) ? `${a.correlation.toFixed(2)} ±${a.correlation_se.toFixed(2)}` : ABSENT },
  { title: "For one more", numeric: true, value: (a) => a.slope_ns, cell: (a) => duration(a.slope_ns) },
  { title: "Mean", numeric: true, value: (a) => a.mean, cell: (a) => a.mean.toPrecision(4) },
  { title: "Std deviation", numeric: true, value: (a) => a.sd, cell: (a) => a.sd.toPrecision(4) },
  { title: "Intervals", numeric: true, value: (a) => a.intervals, cell: (a) => count(a.intervals) },
], attributes);
