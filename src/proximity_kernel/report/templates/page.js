"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const ask = (query) => window.matchMedia(query);
const dark = ask("(prefers-color-scheme: dark)");
const wide = ask("(min-width: 60.01rem)");
const shorten = (text, most) =>
  text.length > most ? text.slice(0, most - 1) + "…" : text;

// Make an element with attributes, text and children; text is never parsed as HTML.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const color = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function count(n, noun) {
  const written = n.toLocaleString("en");
  return noun ? `${written} ${noun}${n === 1 ? "" : "s"}` : written;
}

// Hide all but the first items of a list, behind a button that shows all items.
function fold(list) {
  const most = Number(list.dataset.more);
  const beyond = [...list.children].slice(most);
  if (beyond.length < 2) return;
  beyond.forEach((item) => (item.hidden = true));
  const label = `Show all ${count(list.children.length)} ${list.dataset.noun}`;
  const button = make("button", { type: "button", class: "more", text: label });
  button.addEventListener("click", () => unfold(list));
  const after = list.closest(".scroll") || list.closest("table") || list;
  after.after(button);
  list.fold = { beyond, button };
}

function unfold(list) {
  if (!list.fold) return;
  list.fold.beyond.forEach((item) => (item.hidden = false));
  const first = list.fold.beyond[0];
  if (document.activeElement === list.fold.button) {
    first.tabIndex = -1;
    first.focus({ preventScroll: true });
  }
  list.fold.button.remove();
  list.fold = null;
}

document.querySelectorAll("[data-more]").forEach(fold);

// Show a hint above each table that is wider than the page.
function hintSideways() {
  document.querySelectorAll(".sideways").forEach((hint) => {
    const table = hint.nextElementSibling;
    hint.hidden = table.scrollWidth <= table.clientWidth;
  });
}
hintSideways();
window.addEventListener("resize", hintSideways);

const find = byId("find");
if (find) {
  const cards = byId("cards");
  find.addEventListener("input", () => {
    unfold(cards);
    const sought = find.value.trim().toLowerCase();
    let found = 0;
    for (const card of cards.children) {
      card.hidden = !card.dataset.name.toLowerCase().includes(sought);
      found += !card.hidden;
    }
    byId("found").textContent = sought ? count(found, "column") : "";
  });
}
