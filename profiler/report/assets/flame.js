// The variance flame graph: root on top, width = what the mode says, negative values in a strip of their own.
const ROW = 22;
const WIDTH_MIN_PX = 0.7;
const TEXT_MIN_PX = 22;

const flameModes = (tree) => [
  ["share", "Variance", (node) => node.share ?? 0],
  ...["p95", "p99", "p999"].filter((p) => p in tree.tail_share)
    .map((p) => [p, `Tail ${percentile(p)}`, (node) => node.tail_share[p] ?? 0]),
  ["mean", "Mean time", (node) => tree.mean_ns > 0 ? node.mean_ns / tree.mean_ns : 0],
];

const nodeFacts = (node) => {
  const tails = Object.entries(node.tail_share).sort().map(([p, t]) => `${percentile(p)} ${percent(t)}`).join(", ");
  return [
    ["Share of variance", withError(node.share, node.se)], ["Var(X) / Var(L)", percent(node.variance_fraction)],
    ["Share of the tail", tails || ABSENT], ["Mean", duration(node.mean_ns)], ["Standard deviation", duration(node.sd_ns)],
    ["Calls an interval", node.kind === "body" ? ABSENT : calls(node.calls_mean)],
    ["Explained by calls", node.calls_explained === null ? ABSENT : percent(node.calls_explained)],
    ["Call site", node.site || ABSENT], ["Source", place(node) || ABSENT], ["Kind", KINDS[node.kind] ?? node.kind],
  ];
};

const covarianceText = (node) => node.covariances.slice(0, 4).map(({ a, b, contribution, se }) =>
  `${node.children[a]?.name} & ${node.children[b]?.name} ${withError(contribution, se)}`).join(" · ");

class Flame {
  // `details` is where the frame under the pointer or focus is described, `order` that of siblings (see layout.js). Graphs
  // that are each other's `peers` are drawn in one unit: the largest fills its place. `size()` is what a value of 1 is worth
  // in it.
  constructor(tree, { details, label, order = bySize }) {
    this.details = details;
    this.order = order;
    this.graph = el("div", { class: "flame", role: "tree", "aria-label": label });
    this.apartTitle = el("div", { class: "apart-title" });
    this.strip = el("div", { class: "flame", role: "tree", "aria-label": `${label}, negative shares` });
    this.apart = el("div", { class: "apart" }, this.apartTitle, this.strip);
    this.element = el("div", {}, this.graph, this.apart);
    this.tree = tree;
    this.peers = [this];
    this.size = () => 1;
    this.text = "";
    this.zoomed = null;
    this.onzoom = () => {};
    for (const host of [this.graph, this.strip]) host.addEventListener("keydown", (event) => this.key(event));
    // In the next frame: drawing changes the height, which would be observed again.
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(this.element);
  }

  mode([name, , value]) {
    this.modeName = name;
    this.value = value;
    this.zoomed = null;
    this.layout = layoutFlame(this.tree, value, this.order);
  }

  // Zooms to a node (null: the whole).
  zoom(node) {
    this.zoomed = node === this.tree ? null : node;
    this.draw();
    this.onzoom(this.zoomed);
  }

  find(text) {
    this.text = text;
    this.draw();
    if (text === "") return "";
    // Of nested hits the outermost counts, or recursion would count twice.
    let hits = 0, value = 0;
    const walk = (node, inside) => {
      const hit = matches(node, text);
      if (hit) hits += 1;
      if (hit && !inside) value += this.value(node);
      for (const child of node.children) walk(child, inside || hit);
    };
    walk(this.tree, false);
    return `${count(hits)} found, ${percent(value)}`;
  }

  draw() {
    if (!this.layout || this.element.clientWidth === 0) return;
    const px = this.element.clientWidth * this.scale();
    const focus = this.zoomed && this.layout.frames.find((frame) => frame.node === this.zoomed);
    const from = focus ? focus.x : 0;
    const span = (focus ? focus.width : this.layout.total) || 1;
    const callers = new Set();
    for (let f = focus?.parent; f; f = f.parent) callers.add(f);
    const shown = this.layout.frames.filter((f) => callers.has(f) || f.x + f.width > from && f.x < from + span);
    this.fill(this.graph, shown.map((f) => callers.has(f)
      ? { frame: f, left: 0, width: px, above: true }
      : { frame: f, left: (f.x - from) / span * px, width: f.width / span * px }));
    this.drawApart(px / (this.layout.total || 1));
    const all = [this.graph, this.strip];
    for (const host of all) host.classList.toggle("searching", this.text !== "");
  }

  scale() {
    const extent = (flame) => flame.size() * flame.layout.total;
    const largest = Math.max(...this.peers.map(extent));
    return largest > 0 ? Math.max(0.02, extent(this) / largest) : 1;
  }

  drawApart(px) {
    const { apart } = this.layout;
    this.apart.hidden = apart.length === 0 || this.zoomed !== null;
    if (this.apart.hidden) return;
    const sum = apart.filter((f) => f.depth === 0 && f.sign < 0).reduce((sum, f) => sum + this.value(f.node), 0);
    this.apartTitle.textContent = `Negative, ${percent(sum)} in all, same scale: shorter when the interval is longer, so it evens latency out`;
    this.fill(this.strip, apart.map((f) => ({ frame: f, left: f.x * px, width: f.width * px })));
  }

  fill(host, boxes) {
    const visible = boxes.filter((box) => box.width >= WIDTH_MIN_PX);
    host.style.height = `${(Math.max(-1, ...visible.map((box) => box.frame.depth)) + 1) * ROW}px`;
    host.replaceChildren(...visible.map((box, i) => this.box(box, i === 0)));
  }

  box({ frame, left, width, above }, first) {
    const { node, sign, depth } = frame;
    const name = `${node.name}  ${percent(this.value(node))}`;
    const classes = ["frame", `kind-${node.kind}`, sign < 0 && "negative", above && "dimmed", width < TEXT_MIN_PX && "thin",
      matches(node, this.text) && "hit"];
    const button = el("button", {
      type: "button", role: "treeitem", "aria-level": depth + 1, "aria-label": `${name}, ${KINDS[node.kind] ?? node.kind}`,
      tabindex: first ? 0 : -1, class: classes.filter(Boolean).join(" "),
      style: { left: `${left}px`, width: `${width}px`, top: `${depth * ROW}px` },
      onclick: () => this.click(frame),
      onmouseenter: () => this.describe(frame), onfocus: () => this.describe(frame),
    }, el("span", {}, name));
    button.frame = frame;
    return button;
  }

  click(frame) {
    if (!this.layout.frames.includes(frame)) return this.describe(frame);
    this.zoom(frame.node);
    // The frames are new ones: the focus goes to the one that took the place.
    [...this.graph.children].find((box) => box.frame === frame)?.focus();
  }

  // Arrows walk the tree, Enter zooms (the button's own click), Escape zooms out.
  key(event) {
    const here = event.target.frame;
    if (!here) return;
    const boxes = [...event.currentTarget.children];
    const siblings = boxes.filter((box) => box.frame.depth === here.depth);
    const at = siblings.findIndex((box) => box.frame === here);
    const to = {
      ArrowDown: () => boxes.find((box) => box.frame.parent === here && box.frame.depth === here.depth + 1),
      ArrowUp: () => boxes.find((box) => box.frame === here.parent),
      ArrowLeft: () => siblings[at - 1], ArrowRight: () => siblings[at + 1],
      Home: () => boxes[0], Escape: () => { this.zoom(null); return this.graph.firstChild; },
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const target = to();
    if (!target) return;
    for (const box of boxes) box.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  }

  describe(frame) {
    const { node } = frame;
    const pairs = covarianceText(node);
    this.details.replaceChildren(
      el("div", {}, tag(node.kind), " ", el("b", { class: "mono" }, node.name)),
      el("div", { class: "path mono" }, framePath(frame)),
      el("dl", { class: "facts" }, nodeFacts(node).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
      ...(pairs ? [el("div", { class: "soft" }, `Pairs of its callees (2 Cov / Var(L)): ${pairs}`)] : []));
  }
}

const kindsOf = (node, into = new Set()) => {
  into.add(node.kind);
  for (const child of node.children) kindsOf(child, into);
  return into;
};
const legend = (...trees) => {
  const used = new Set(trees.flatMap((tree) => [...kindsOf(tree)]));
  return el("div", { class: "legend" }, Object.keys(KINDS).filter((kind) => used.has(kind)).map((kind) =>
    el("span", {}, el("span", { class: `swatch kind-${kind}` }), KINDS[kind])),
  el("span", {}, el("span", { class: "swatch kind-call negative" }), "hatched: negative"));
};

// Flame graphs with one set of controls, stacked or side by side. `extra` are further controls.
const flamePanel = (flames, details, extra = []) => {
  const trees = flames.map((flame) => flame.tree);
  const modes = flameModes(trees[0]);
  const found = el("span", { class: "soft", role: "status" });
  const reset = el("button", { type: "button", class: "plain", disabled: true, onclick: () => flames.forEach((f) => f.zoom(null)) }, "Show all");
  for (const flame of flames) flame.onzoom = () => {
    reset.disabled = flames.every((f) => f.zoomed === null);
    if (flames.length === 1) state.set("zoom", routeTo(flame.tree, flame.zoomed));
  };
  const pick = (name) => {
    reset.disabled = true;
    state.set("zoom", "");
    state.set("weight", name === "share" ? "" : name);
    for (const flame of flames) flame.mode(flameModes(flame.tree).find(([n]) => n === name) ?? flameModes(flame.tree)[0]);
    for (const flame of flames) flame.draw();
  };
  const find = (text) => {
    state.set("search", text);
    found.textContent = flames.map((f) => f.find(text)).filter(Boolean).join(" → ");
  };
  const [zoomed, text] = [state.get("zoom"), state.get("search")];
  const weight = modes.some(([name]) => name === state.get("weight")) ? state.get("weight") : "share";
  pick(weight);
  if (zoomed && flames.length === 1) flames[0].zoom(nodeAt(flames[0].tree, zoomed));
  if (text) find(text);
  return el("div", {},
    el("div", { class: "bar" }, choice("Width of a frame", modes.map(([name, text]) => [name, text]), weight, pick), ...extra, reset,
      search("Find a function or file", find, text), found),
    legend(...trees), ...(flames.length > 1
      ? [el("div", { class: "columns wide" }, flames.map((f) => el("div", {}, el("h3", {}, f.title), f.element)))]
      : [el("div", { style: { marginTop: "8px" } }, flames[0].element)]),
    details);
};
const detailsBox = () => el("div", { class: "details", "aria-live": "polite" },
  el("p", { class: "soft" }, "Point at a frame, or reach it with Tab and the arrow keys, to see its numbers here. Click or Enter zooms in, Escape zooms out."));
