// Elements of the page. Text goes in as text nodes only: names and statements come from the target and are never markup.
const el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

// The parser knows the namespace of SVG, so that this file need not name its address.
const SVG = (() => {
  const template = document.createElement("template");
  template.innerHTML = "<svg></svg>";
  return template.content.firstChild.namespaceURI;
})();
const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const data = (id) => JSON.parse(document.getElementById(id).textContent);
const figure = (value, label) => el("div", { class: "figure" }, el("b", {}, value), el("span", {}, label));
const tag = (kind) => el("span", { class: `tag kind-${kind}` }, KINDS[kind] ?? kind);
// What scrolls sideways can be reached and scrolled by keyboard.
const scrolling = (label, ...content) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...content);

// Text with its addresses as links. Nothing but the web's own is one.
const linked = (text) => text.split(/(https?:[/][/][^\s<>"')]+[^\s<>"').,;:])/).map((part, i) =>
  i % 2 === 0 ? part : el("a", { href: part, rel: "noreferrer noopener", target: "_blank" }, part));

// A row of buttons with one pressed.
const choice = (label, options, chosen, pick) => {
  const buttons = options.map(([value, text]) => el("button", { type: "button", "aria-pressed": String(value === chosen),
    onclick: () => {
      for (const [i, button] of buttons.entries()) button.setAttribute("aria-pressed", String(options[i][0] === value));
      pick(value);
    } }, text));
  return el("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
};

const search = (label, find, text = "") => {
  const box = el("input", { type: "search", placeholder: label, "aria-label": label, spellcheck: "false", value: text,
    oninput: () => find(box.value.trim().toLowerCase()) });
  return box;
};
const matches = (node, text) => text !== "" && (stepName(node) + " " + place(node)).toLowerCase().includes(text);
