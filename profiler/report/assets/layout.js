// Where the frames of a flame graph go.
//
// A node's width is its value. Children add up to their parent, but some are negative (time that is short when the
// interval is long). So the positive ones may need more room than their parent's value: a frame is as wide as the
// larger of its value and its positive children. Negative nodes are drawn apart with their magnitude, and their
// callees below them. A positive node below a negative one is drawn apart again.

// Orders of siblings: the largest first, or by name, which puts the same call at the same place in two graphs.
const bySize = (value) => (a, b) => Math.abs(value(b)) - Math.abs(value(a));
const byName = () => (a, b) => a.name.localeCompare(b.name) || a.site.localeCompare(b.site);

// -> { total, frames: [{ node, x, width, depth, sign, parent }], apart: [the same, one after the other] }; x and width in
// the unit of `value`.
const layoutFlame = (root, value, order) => {
  const widths = new Map();
  const measure = (node, sign) => {
    let below = 0;
    for (const child of node.children) if (sign * value(child) > 0) below += measure(child, sign);
    const width = Math.max(sign * value(node), below, 0);
    widths.set(node, width);
    return width;
  };
  const opposite = [];
  const put = (into, node, sign, x, depth, parent) => {
    const frame = { node, x, width: widths.get(node), depth, sign, parent };
    into.push(frame);
    let at = x;
    const children = node.children.filter((child) => value(child) !== 0);
    children.sort(order(value));
    for (const child of children) {
      if (sign * value(child) > 0) at += put(into, child, sign, at, depth + 1, frame);
      else opposite.push({ node: child, sign: -sign, parent: frame });
    }
    return frame.width;
  };
  const frames = [], apart = [];
  measure(root, 1);
  put(frames, root, 1, 0, 0, null);
  let at = 0;
  // `put` finds further ones, which this loop reaches too.
  for (const { node, sign, parent } of opposite) {
    measure(node, sign);
    at += put(apart, node, sign, at, 0, parent);
  }
  return { total: widths.get(root), frames, apart };
};

const framePath = (frame) => {
  const steps = [];
  for (let f = frame; f; f = f.parent) steps.unshift(stepName(f.node));
  return steps.join(" > ");
};
