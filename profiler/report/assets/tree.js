// The variance tree as a table: all columns, branches open and close, a search keeps what it finds and its callers.
const OPEN_MIN = 0.03;
const FOUND_MAX = 500;

const treeColumns = (tree) => [
  ["Share", (n) => el("span", {}, withError(n.share, n.se))],
  ["", (n) => el("span", { class: "meter", style: { width: `${Math.min(1, Math.abs(n.share ?? 0)) * 60}px`, opacity: n.share < 0 ? 0.4 : 1 } })],
  ["Var(X)/Var(L)", (n) => percent(n.variance_fraction)],
  ["Mean", (n) => duration(n.mean_ns)], ["Std dev", (n) => duration(n.sd_ns)],
  ["Calls", (n) => n.kind === "body" ? "" : calls(n.calls_mean)],
  ["By calls", (n) => n.calls_explained === null ? "" : percent(n.calls_explained)],
  ...["p95", "p99", "p999"].filter((p) => p in tree.tail_share).map((p) => [`Tail ${percentile(p)}`, (n) => percent(n.tail_share[p])]),
  ["Height", (n) => String(n.height)],
];

const treeTable = (tree) => {
  const columns = treeColumns(tree);
  const open = new Set();
  const openLarge = (node) => {
    if (Math.abs(node.share) < OPEN_MIN) return;
    open.add(node);
    node.children.forEach(openLarge);
  };
  openLarge(tree);
  const body = el("tbody");
  const note = el("span", { class: "soft", role: "status" });
  let text = "";
  // Nodes whose small callees are shown, too.
  const unfolded = new Set();

  // Nodes found, and those above them.
  const found = () => {
    const hits = new Set(), kept = new Set();
    const walk = (node) => {
      let keep = matches(node, text) && hits.size < FOUND_MAX;
      if (keep) hits.add(node);
      for (const child of node.children) keep = walk(child) || keep;
      if (keep) kept.add(node);
      return keep;
    };
    walk(tree);
    return { hits, kept };
  };
  const row = (node, depth, hit, isOpen) => {
    const twist = node.children.length === 0 ? el("span", { class: "twist" }, "·")
      : el("button", { type: "button", class: "twist", "aria-expanded": String(isOpen), "aria-label": `Calls of ${node.name}`,
        onclick: () => { if (!open.delete(node)) open.add(node); draw(node); } }, isOpen ? "▾" : "▸");
    twist.node = node;
    return el("tr", { class: hit && "hit", "aria-level": depth + 1 },
      el("td", { style: { paddingLeft: `${8 + depth * 16}px` } }, twist, " ", el("span", { class: `swatch kind-${node.kind}`, title: KINDS[node.kind] }),
        el("span", { class: "mono" }, node.name), " ", el("small", { class: "mono" }, node.site)),
      columns.map(([, cell]) => el("td", { class: "num" }, cell(node))),
      el("td", { class: "mono soft" }, place(node)), el("td", { class: "soft" }, covarianceText(node)));
  };
  const folded = (node, depth, left) => el("tr", {}, el("td", { colspan: columns.length + 3, style: { paddingLeft: `${8 + depth * 16}px` } },
    el("button", { type: "button", class: "plain", onclick: () => { unfolded.add(node); draw(node); } }, `${count(left)} more, each below ${percent(SMALL)}`)));
  const draw = (focus) => {
    const filter = text === "" ? null : found();
    const rows = [];
    const walk = (node, depth) => {
      if (filter && !filter.kept.has(node)) return;
      const isOpen = filter ? true : open.has(node);
      rows.push(row(node, depth, filter?.hits.has(node), isOpen));
      if (!isOpen) return;
      const isShown = (child) => filter || unfolded.has(node) || Math.abs(child.share ?? 0) >= SMALL;
      const shown = node.children.filter(isShown);
      shown.forEach((child) => walk(child, depth + 1));
      if (shown.length < node.children.length) rows.push(folded(node, depth + 1, node.children.length - shown.length));
    };
    walk(tree, 0);
    body.replaceChildren(...rows);
    note.textContent = filter ? `${count(filter.hits.size)} found${filter.hits.size === FOUND_MAX ? " (the first)" : ""}` : "";
    if (focus) [...body.querySelectorAll(".twist")].find((twist) => twist.node === focus)?.focus();
  };
  const all = (node) => { open.add(node); node.children.forEach(all); };
  draw();
  return el("div", {}, el("div", { class: "bar" },
    el("button", { type: "button", class: "plain", onclick: () => { all(tree); draw(); } }, "Open all"),
    el("button", { type: "button", class: "plain", onclick: () => { open.clear(); open.add(tree); draw(); } }, "Close all"),
    search("Find a function or file", (value) => { text = value; draw(); }), note),
  scrolling("Variance tree", el("table", { class: "tree", role: "treegrid", "aria-label": "Variance tree" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Call"),
    columns.map(([title]) => el("th", { class: "num", scope: "col" }, title)), el("th", { scope: "col" }, "Source"), el("th", { scope: "col" }, "Pairs of its callees"))), body)));
};
