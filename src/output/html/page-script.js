"use strict";
// What the page does with a script; without one, it shows the same.

/** The parts of a table that are sorted: its rows, or the bodies of a row with its details. */
function partsOf(table) {
  const bodies = [...table.tBodies];
  return table.classList.contains("unfolds") ? bodies : [...bodies[0].rows];
}

const rowOf = (part) => part.rows?.[0] ?? part;
const texts = new Intl.Collator("en", { numeric: true });

/** Compares cells: numbers by value, texts in natural order, empty cells last. */
function compare(a, b, down) {
  const empty = (a.textContent === "") - (b.textContent === "");
  if (empty !== 0) return empty;
  const [one, other] = [a.dataset.value, b.dataset.value];
  const order =
    one === undefined || other === undefined
      ? texts.compare(a.textContent, b.textContent)
      : one - other;
  return down ? -order : order;
}

/** Makes the heads of a table buttons: up, down, and as it was. */
function makeSortable(table) {
  const parts = partsOf(table);
  const { parentNode } = parts[0];
  const heads = [...table.tHead.rows[0].cells];
  const next = { ascending: "descending", descending: undefined };
  for (const [column, head] of heads.entries()) {
    if (head.dataset.sort === undefined) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const order = before === null ? "ascending" : next[before];
      for (const each of heads) each.removeAttribute("aria-sort");
      if (order) head.setAttribute("aria-sort", order);
      const cellOf = (part) => rowOf(part).cells[column];
      const sorted = order
        ? parts.toSorted((a, b) => compare(cellOf(a), cellOf(b), order === "descending"))
        : parts;
      parentNode.append(...sorted);
    });
  }
}

/** Makes the name of each row a button that unfolds its details, and adds one for all. */
function makeUnfolding(table, number) {
  const all = [...table.querySelectorAll("tr.more > td > details")];
  for (const [index, details] of all.entries()) {
    const row = details.closest("tbody").rows[0];
    const name = row.querySelector("th") ?? row.cells[0];
    if (name.textContent === "") name.append(`Row ${index + 1}`);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    details.id = `details-${number}-${index}`;
    button.setAttribute("aria-controls", details.id);
    button.append(...name.childNodes);
    name.append(button);
    const show = () => button.setAttribute("aria-expanded", String(details.open));
    show();
    button.addEventListener("click", () => {
      details.open = !details.open;
      show(); // the event comes later
    });
    details.addEventListener("toggle", show);
  }
  if (all.length > 1) addUnfoldAll(table, all);
}

function addUnfoldAll(table, all) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "all";
  const isOpen = () => all.every((details) => details.open);
  const show = () => (button.textContent = isOpen() ? "Fold all" : "Unfold all");
  show();
  button.addEventListener("click", () => {
    const open = !isOpen();
    for (const details of all) details.open = open;
  });
  for (const details of all) details.addEventListener("toggle", show);
  table.parentNode.before(button);
}

document.documentElement.classList.add("scripted");
for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
for (const [number, table] of document.querySelectorAll("table.unfolds").entries())
  makeUnfolding(table, number);

// On paper nothing can be unfolded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const details of folded) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});
