// What the reader has chosen lies in the address behind "#", so that a link shows the same again.
const state = (() => {
  const chosen = new URLSearchParams(location.hash.slice(1));
  const keep = () => history.replaceState(null, "", `#${chosen}`);
  const all = (key) => (chosen.get(key) ?? "").split(",").filter(Boolean);
  const set = (key, value) => {
    if (value) chosen.set(key, value);
    else chosen.delete(key);
    keep();
  };
  return {
    get: (key) => chosen.get(key) ?? "",
    set,
    has: (key, value) => all(key).includes(value),
    // Puts a value into a list, or takes it out.
    put: (key, value, isIn) => set(key, [...all(key).filter((other) => other !== value), ...(isIn ? [value] : [])].join(",")),
  };
})();

// A node by the places of its callers and itself among their siblings.
const routeTo = (tree, node) => {
  const walk = (from, route) => {
    if (from === node) return route;
    for (const [i, child] of from.children.entries()) {
      const found = walk(child, [...route, i]);
      if (found) return found;
    }
    return null;
  };
  return node ? (walk(tree, []) ?? []).join(".") : "";
};
const nodeAt = (tree, route) => route.split(".").filter(Boolean).reduce((node, i) => node?.children[i], tree) ?? null;
