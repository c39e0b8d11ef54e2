// The page of an answer: rows of a question to the tables of many recordings.
const answer = data("answer");

const number = (x) => !known(x) ? ABSENT : Number.isInteger(x) ? String(x)
  : x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e9) ? x.toExponential(3) : x.toFixed(3);
const written = { text: (x) => x ?? "", count, duration, percent, calls, number };
// Integers that no number here can hold come as text.
const write = (value, how) => typeof value === "string" ? value : String(written[how](value));
const meter = (x) => el("span", { class: "meter", style: { width: `${Math.min(1, Math.abs(x ?? 0)) * 60}px`, opacity: x < 0 ? 0.4 : 1 } });

// How many columns, from the left, are as in the row above.
const asAbove = (row, above) => {
  const different = row.findIndex((value, at) => at >= answer.repeated || value !== above?.[at]);
  return different < 0 ? row.length : different;
};

const columns = answer.columns.map(({ title, how }, at) => ({
  title, numeric: how !== "text", value: ({ values }) => values[at] ?? (how === "text" ? "" : null),
  cell: ({ values, repeated }) => el("span", { class: [how === "text" && "mono", at < repeated && "soft"].filter(Boolean).join(" ") },
    write(values[at], how), how === "percent" ? meter(values[at]) : null),
}));
const rows = answer.rows.map((values, i) => ({ values, repeated: asAbove(values, answer.rows[i - 1]),
  text: values.map((value, at) => write(value, answer.columns[at].how)).join(" ").toLowerCase() }));

const table = () => {
  if (rows.length === 0) return el("p", {}, answer.nothing);
  const host = el("div");
  const draw = (text) => host.replaceChildren(sortableTable(columns, rows.filter((row) => row.text.includes(text))));
  draw("");
  return el("div", {}, el("div", { class: "bar" }, search("Show rows with", draw)), host,
    answer.left_out > 0 ? el("p", { class: "note" }, `${count(answer.left_out)} more rows are not on this page: --json has all.`) : null);
};

document.title = `${answer.about}: Evenkeel`;
document.getElementById("page").append(
  el("header", {}, el("h1", {}, answer.about), el("div", { class: "command mono" }, answer.command),
    el("div", { class: "figures" }, answer.figures.map(([value, label]) => figure(value, label)))),
  ...answer.warnings.map((warning) => el("p", { class: "note" }, warning)),
  table(),
  el("details", {}, el("summary", { class: "soft" }, "The query, which other engines answer alike"),
    el("pre", { class: "mono", style: { whiteSpace: "pre-wrap" } }, answer.sql)));
