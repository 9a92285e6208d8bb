// What the page does beyond links and forms: keys, the sliders of thresholds, and a word when the server is gone.
"use strict";

document.documentElement.classList.add("js");

const find = (selector) => document.querySelector(selector);

// Keys. In the list the row in focus is meant, on the page of a message that message.

function step(direction) {
  const rows = [...document.querySelectorAll("a.open")];
  if (rows.length === 0) {
    find(direction > 0 ? 'a[rel="next"]' : 'a[rel="prev"]')?.click();
    return;
  }
  const here = rows.indexOf(document.activeElement?.closest(".row")?.querySelector("a.open"));
  const next = rows[here < 0 ? 0 : Math.min(Math.max(here + direction, 0), rows.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function train(label) {
  const scope = find("#verdict") ?? document.activeElement?.closest(".row");
  scope?.querySelector(`button[name="label"][value="${label}"]:enabled`)?.click();
}

const keys = {
  j: () => step(1),
  ArrowDown: () => step(1),
  k: () => step(-1),
  ArrowUp: () => step(-1),
  s: () => train("spam"),
  g: () => train("ham"),
  h: () => train("ham"),
  u: () => train("undo"),
  x: () => document.activeElement?.closest(".row")?.querySelector(".pick input").click(),
  z: () => find("#undo-action")?.click(),
  r: () => find("#read-again:enabled")?.click(),
  "/": () => find("#search") ? find("#search").select() : find("#back")?.click(),
  "?": () => find("#help").showModal(),
  Escape: () => find("#back") ? find("#back").click() : find("#notice").replaceChildren(),
};

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || find("#help").open) return;
  if (writing) {
    if (event.key === "Escape") event.target.blur();
    if (event.key === "ArrowDown" && event.target.id === "search") { event.preventDefault(); step(1); }
    return;
  }
  // on the page of a message arrows scroll
  if (event.key.startsWith("Arrow") && !find("a.open")) return;
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-help]")) find("#help").showModal();
});

// Sliders. They are in log-odds, the fields beside them in probabilities, and the fields are what counts.

const GAP = 0.1;
const logOdds = (probability) => Math.log(probability / (1 - probability));

function probability(odds) {
  const value = 1 / (1 + Math.exp(-odds));
  // as many digits as the smaller of both sides needs
  const digits = Math.max(2, Math.ceil(-Math.log10(Math.min(value, 1 - value))) + 2);
  return Number(value.toFixed(digits));
}

function moveSliders() {
  for (const range of document.querySelectorAll(".slider input")) {
    range.value = logOdds(Number(find("#" + range.dataset.for).value));
    sayThreshold(range);
  }
}

function sayThreshold(range) {
  range.setAttribute("aria-valuetext", find("#" + range.dataset.for).value);
}

document.addEventListener("input", (event) => {
  const moved = event.target;
  if (moved.matches(".slider input")) {
    const isHam = moved.id === "ham-range";
    const other = find(isHam ? "#spam-range" : "#ham-range");
    const sign = isHam ? 1 : -1;
    const changed = [moved];
    // it stops a little before the end, and pushes the other one before itself
    moved.value = isHam ? Math.min(moved.value, moved.max - GAP) : Math.max(moved.value, Number(moved.min) + GAP);
    if (sign * (other.value - moved.value) < GAP) {
      other.value = Number(moved.value) + sign * GAP;
      changed.push(other);
    }
    for (const range of changed) {
      find("#" + range.dataset.for).value = probability(Number(range.value));
      sayThreshold(range);
    }
  } else if (moved.matches("#thresholds input[type=number]")) {
    moveSliders();
  }
}, true);

document.addEventListener("htmx:afterSettle", (event) => {
  if (find(".slider") && event.target.id !== "live") moveSliders();
});
if (find(".slider")) moveSliders();

// A notice goes when something else is done.

document.addEventListener("htmx:beforeRequest", (event) => {
  if (!event.target.matches(".progress")) find("#notice").replaceChildren();
});
// what covers the list goes by itself, unless it is being used
setInterval(() => {
  const toast = find(".toast");
  if (toast && !find("#notice").matches(":hover, :focus-within") && Date.now() - toast.shown > 20_000) {
    find("#notice").replaceChildren();
  } else if (toast) {
    toast.shown ??= Date.now();
  }
}, 1000);
document.addEventListener("htmx:sendError", () => {
  const words = document.createElement("p");
  words.className = "problem";
  words.textContent = "The server does not answer. Start it anew, and open the address that it prints.";
  find("#notice").replaceChildren(words);
});
