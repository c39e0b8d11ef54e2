// The sections of a page. Those that are not needed at once are closed, and made when they are opened.
const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const remarked = (remark) => remark ? el("p", { class: "soft" }, remark) : null;

const section = (title, remark, ...content) =>
  el("section", { id: slug(title) }, el("h2", {}, title), remarked(remark), ...content);

// `make()` -> what is in it.
const closedSection = (title, remark, make) => {
  const id = slug(title);
  const inside = el("div");
  const details = el("details", { class: "section", id }, el("summary", {}, el("h2", {}, title)), remarked(remark), inside);
  details.make = () => {
    if (inside.childNodes.length === 0) inside.append(...[make()].flat().filter(Boolean));
  };
  details.addEventListener("toggle", () => {
    if (details.open) details.make();
    state.put("open", id, details.open);
  });
  if (state.has("open", id)) details.open = true;
  return details;
};

const show = (target) => {
  if (target.make) { target.make(); target.open = true; }
  target.scrollIntoView();
};

// Links to the sections of a page, which stay at its top.
const navigation = (sections) => el("nav", { "aria-label": "Sections" }, sections.filter(Boolean).map((target) =>
  el("a", { href: `#open=${target.id}`, onclick: (event) => { event.preventDefault(); show(target); } }, target.querySelector("h2").textContent)));
