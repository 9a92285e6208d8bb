// What the list does beyond links and forms: several messages at once, and swipes.
"use strict";

const boxes = () => [...document.querySelectorAll(".pick input")];

// Several at once. What is ticked stays ticked while the list is made anew, unless it was trained.

let ticked = new Set();
let lastBox = null;

function sayTicked() {
  const all = boxes();
  const count = all.filter((box) => box.checked).length;
  const whole = find("#pick-all");
  if (!whole) return;
  whole.checked = count > 0 && count === all.length;
  whole.indeterminate = count > 0 && count < all.length;
  find("#picked").textContent = count > 0 ? `${count} selected` : "Select all on this page";
}

document.addEventListener("click", (event) => {
  const box = event.target.closest(".pick input");
  if (!box) return;
  const all = boxes();
  if (event.shiftKey && all.includes(lastBox)) {
    const [first, last] = [all.indexOf(lastBox), all.indexOf(box)].sort((a, b) => a - b);
    for (const other of all.slice(first, last + 1)) other.checked = box.checked;
  }
  lastBox = box;
});
document.addEventListener("change", (event) => {
  if (event.target.id === "pick-all") for (const box of boxes()) box.checked = event.target.checked;
  if (event.target.matches(".pick input, #pick-all")) sayTicked();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const isTrained = event.detail.requestConfig.verb === "post" && event.detail.requestConfig.path.endsWith("/bulk");
  ticked = new Set(isTrained ? [] : boxes().filter((box) => box.checked).map((box) => box.value));
});
document.addEventListener("htmx:afterSwap", () => {
  for (const box of boxes()) if (ticked.has(box.value)) box.checked = true;
  sayTicked();
});
sayTicked();

// Swipes. To the left is spam, to the right is good; what is let go too early slides back.

const ENOUGH = 90;
let swipe = null;
let swiped = { row: null, until: 0 };

function slide(distance) {
  const row = swipe.row;
  for (const part of row.querySelectorAll(".open, .pick")) {
    if (distance) part.style.transform = `translateX(${distance}px)`;
    else part.removeAttribute("style");
  }
  row.classList.toggle("swiped", distance !== 0);
  row.classList.toggle("left", distance < 0);
  row.classList.toggle("enough", Math.abs(distance) >= ENOUGH);
  row.dataset.swipe = distance < 0 ? "Spam" : "Good";
}

document.addEventListener("pointerdown", (event) => {
  const row = event.pointerType === "touch" && event.isPrimary && event.target.closest(".row");
  swipe = row ? { row, x: event.clientX, y: event.clientY, distance: 0 } : null;
});
document.addEventListener("pointermove", (event) => {
  if (!swipe || !event.isPrimary) return;
  const [x, y] = [event.clientX - swipe.x, event.clientY - swipe.y];
  if (swipe.distance === 0 && (Math.abs(x) < 12 || Math.abs(x) < 1.5 * Math.abs(y))) return;
  swipe.distance = x;
  slide(x);
});
// a browser takes the end of a swipe for a click, too
document.addEventListener("click", (event) => {
  if (event.isTrusted && event.timeStamp < swiped.until && swiped.row.contains(event.target)) {
    event.preventDefault();
    event.stopPropagation();
  }
}, true);
for (const name of ["pointerup", "pointercancel"]) {
  document.addEventListener(name, (event) => {
    if (!swipe) return;
    const { row, distance } = swipe;
    slide(0);
    swipe = null;
    if (distance === 0) return;
    swiped = { row, until: event.timeStamp + 100 };
    if (name === "pointerup" && Math.abs(distance) >= ENOUGH) {
      row.querySelector(distance < 0 ? ".to-spam" : ".to-ham").click();
    }
  });
}
