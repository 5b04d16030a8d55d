"use strict";
// What the page does with a script; without one, it shows the same.

/** The parts of a table that are sorted: its rows, or the bodies of a row with its details. */
function partsOf(table) {
  const bodies = [...table.tBodies];
  return table.classList.contains("unfolds") ? bodies : [...bodies[0].rows];
}

const rowOf = (part) => part.rows?.[0] ?? part;
const texts = new Intl.Collator("en", { numeric: true });

/** What a cell is sorted by, read once: comparing reads each many times. */
const keyOf = ({ textContent, dataset }) => ({ text: textContent, value: dataset.value });

/** Compares cells: numbers by value, texts in natural order, empty cells last. */
function compare(a, b, down) {
  const empty = (a.text === "") - (b.text === "");
  if (empty !== 0) return empty;
  const isText = a.value === undefined || b.value === undefined;
  const order = isText ? texts.compare(a.text, b.text) : a.value - b.value;
  return down ? -order : order;
}

/** Rows that a sort moves at once: browsers take long to lay out more. */
const MAX_MOVED = 60;

/** What a sort has yet to move, by table. */
const unmoved = new Map();

function moveOthers(table) {
  const parts = unmoved.get(table) ?? [];
  unmoved.delete(table);
  parts[0]?.parentNode.append(...parts);
}

/** Puts the rows of a table in this order: the first ones at once, all others when these are painted. */
function putInOrder(table, parts) {
  partsOf(table)[0].before(...parts.slice(0, MAX_MOVED));
  if (parts.length <= MAX_MOVED) return;
  unmoved.set(table, parts.slice(MAX_MOVED));
  requestAnimationFrame(() => setTimeout(() => moveOthers(table)));
}

/** Makes the heads of a table buttons: up, down, and as it was. */
function makeSortable(table) {
  const parts = partsOf(table);
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
      const keyed = parts.map((part) => ({ part, key: keyOf(rowOf(part).cells[column]) }));
      if (order) keyed.sort((a, b) => compare(a.key, b.key, order === "descending"));
      putInOrder(
        table,
        keyed.map(({ part }) => part),
      );
    });
  }
}

/** Makes the name of each row a button that unfolds its details, and adds one for all. */
function makeUnfolding(table, number) {
  const all = [...table.querySelectorAll("tr.more > td > details")];
  for (const [index, details] of all.entries()) {
    const row = details.closest("tbody").rows[0];
    const name = row.querySelector("th") ?? row.cells[0];
    if (name.textContent === "") name.prepend(`Row ${index + 1}`);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    details.id = `details-${number}-${index}`;
    button.setAttribute("aria-controls", details.id);
    button.append(...[...name.childNodes].filter((node) => node.className !== "anchor"));
    name.prepend(button);
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
for (const table of document.querySelectorAll("table.sortable")) {
  const details = table.closest("details:not([open], .rest)");
  // A page may have thousands of tables in details.
  if (details) details.addEventListener("toggle", () => makeSortable(table), { once: true });
  else makeSortable(table);
}
for (const [number, table] of document.querySelectorAll("table.unfolds").entries())
  makeUnfolding(table, number);

/** The rows that are filtered: each with its head and the words that it is found by. */
const found = [...document.querySelectorAll("table.found")].flatMap((table) =>
  partsOf(table).map((part) => ({
    part,
    table,
    row: rowOf(part),
    marks: (part.dataset.marks ?? "").split("\n").filter(Boolean),
    text: undefined,
  })),
);

/** A button that is pressed or not. */
function toggle(text, onChange) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(pressed));
    onChange(pressed);
  });
  return button;
}

const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

/** Rows from which on a page has a search. */
const MIN_FOUND = 5;

const keys = {
  "/": "search",
  j: "next row",
  k: "previous row",
  Enter: "unfold or fold the row",
  e: "unfold or fold all rows",
  f: "only rows to look at, such as failed ones",
  Escape: "clear the search",
  "?": "show these keys",
};

const search = element("input", { type: "search", placeholder: "Search (press /)" });
search.setAttribute("aria-label", "Search the rows");
const count = element("output");
const single = element("input", { type: "checkbox", checked: true });
const pressed = new Map();
let help;

/** Whether a row has one of the pressed marks of each kind, and all words of the search. */
function isWanted(each, words) {
  for (const marks of pressed.values())
    if (marks.size > 0 && !each.marks.some((mark) => marks.has(mark))) return false;
  if (words.length === 0) return true;
  each.text ??= each.part.textContent.toLowerCase();
  return words.every((word) => each.text.includes(word));
}

/** The element that the address names; undefined for none. */
function target() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1))) ?? undefined;
  } catch {
    return undefined; // not an address that a link has
  }
}

/** The row that the address names stays, so that a link shows it. */
function filter() {
  const named = target();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isFiltered = words.length > 0 || [...pressed.values()].some(({ size }) => size > 0);
  if (isFiltered) for (const details of document.querySelectorAll(".rest")) details.open = true;
  let shown = 0;
  for (const each of found) {
    const wanted = isWanted(each, words);
    each.part.hidden = !wanted && each.part !== named;
    if (wanted) shown++;
  }
  count.textContent = shown === found.length ? `${shown} rows` : `${shown} of ${found.length} rows`;
}

function addChips() {
  const groups = new Map();
  for (const { marks } of found)
    for (const mark of marks) {
      const [kind] = mark.split(":", 1);
      const counts = groups.get(kind) ?? groups.set(kind, new Map()).get(kind);
      counts.set(mark, (counts.get(mark) ?? 0) + 1);
    }
  return [...groups].map(([kind, counts]) => {
    const group = element("div", { className: "chips" });
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `Filter by ${kind}`);
    const marks = new Set();
    pressed.set(kind, marks);
    for (const [mark, times] of counts) {
      const word = mark.slice(kind.length + 1);
      const label = kind === "state" ? word : `${kind} ${word}`;
      const button = toggle(`${label} ${times}`, (isPressed) => {
        if (isPressed) marks.add(mark);
        else marks.delete(mark);
        filter();
      });
      group.append(button);
    }
    return group;
  });
}

/** The line with search, filters and keys, above the first table whose rows are found. */
function addTools() {
  const first = document.querySelector("table.found");
  const isMarked = found.some(({ marks }) => marks.length > 0);
  if (found.length < MIN_FOUND && !isMarked) return;
  const list = element("dl");
  for (const [key, what] of Object.entries(keys))
    list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, what));
  const use = element("label", {}, single, " Use keys of one character");
  help = element("details", { className: "keys" }, element("summary", {}, "Keys"), list, use);
  const tools = element("div", { className: "tools" }, search, ...addChips(), count, help);
  tools.setAttribute("role", "search");
  const part = first.closest(".part");
  part.before(tools);
  search.addEventListener("input", filter);
  filter();
}

/** What has the focus in a row: the button that unfolds it, or the link to it. */
const focusOf = ({ row }) => row.querySelector("th button, th a");

function moveFocus(by) {
  // The order of the page: sorting has moved the rows.
  const rows = document.querySelectorAll("table.found > tbody > tr");
  const order = new Map([...rows].map((row, index) => [row, index]));
  const visible = found
    .filter(({ part, row }) => !part.hidden && focusOf({ row }))
    .sort((a, b) => order.get(a.row) - order.get(b.row));
  const at = visible.findIndex(({ row }) => row.contains(document.activeElement));
  const next = visible[at === -1 && by < 0 ? visible.length - 1 : at + by];
  if (next) focusOf(next).focus();
}

const actions = {
  "/": () => search.focus(),
  j: () => moveFocus(1),
  k: () => moveFocus(-1),
  e: () => document.querySelector("button.all")?.click(),
  f: () => {
    const states = document.querySelectorAll(".chips[aria-label$=state] button");
    const open = [...states].filter((chip) => chip.getAttribute("aria-pressed") === "false");
    for (const chip of open.length > 0 ? open : states) chip.click();
  },
  "?": () => {
    help.open = !help.open;
    if (help.open) help.querySelector("summary").focus();
  },
};

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target === search) {
    search.value = "";
    filter();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !single.checked || !help) return;
  if (event.target.matches?.("input:not([type=checkbox]), textarea")) return;
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
  if (!action) return;
  event.preventDefault();
  action();
});

/** Shows and unfolds the row that the address names. */
function showTarget() {
  const named = target();
  if (!named) return;
  filter();
  const own = named.querySelector("tr.more > td > details");
  for (const details of [own, named.closest("details")]) if (details) details.open = true;
  named.scrollIntoView?.();
}

addTools();
addEventListener("hashchange", showTarget);
showTarget();

// On paper nothing can be unfolded. Of tables whose rows are marked, those to look at are.
let folded = [];
addEventListener("beforeprint", () => {
  for (const table of unmoved.keys()) moveOthers(table);
  folded = [...document.querySelectorAll("details:not([open], .keys)")].filter(
    (details) => !details.closest("table.marked tbody:not([data-marks*='state:'])"),
  );
  for (const details of folded) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});
