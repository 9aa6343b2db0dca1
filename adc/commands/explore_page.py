"""The page of ``adc explore``: it shows the lines and links them. It is one file, and loads nothing else."""

PAGE = r"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>adc explore: {{title}}</title>
<style>
:root { color-scheme: light dark; --fg: #1b1b1b; --bg: #ffffff; --head: #f0f0f2; --line: #d7d7dc; --mark: #fff1b8;
  --pin: #ffd966; --badge: #0b5394; --find: #c6e8ff; --dim: #595959; }
@media (prefers-color-scheme: dark) { :root { --fg: #e8e8e8; --bg: #17181c; --head: #24262c; --line: #3a3d45;
  --mark: #4a4420; --pin: #5c4f0e; --badge: #9ccbff; --find: #1f4a66; --dim: #c8c8c8; } }
* { box-sizing: border-box; }
body { margin: 0; height: 100vh; display: flex; flex-direction: column; font: 14px system-ui, sans-serif;
  color: var(--fg); background: var(--bg); }
header { padding: 6px 12px; background: var(--head); border-bottom: 1px solid var(--line); }
h1 { font-size: 16px; margin: 0 16px 0 0; display: inline-block; }
h2 { font-size: 13px; margin: 0; padding: 4px 8px; background: var(--head); border-bottom: 1px solid var(--line); }
details { display: inline-block; vertical-align: top; max-width: 60vw; }
details pre { white-space: pre-wrap; margin: 4px 0; }
input { font: inherit; padding: 2px 6px; color: inherit; background: var(--bg); border: 1px solid var(--dim); }
main { flex: 1; min-height: 0; display: flex; }
section { flex: 1 1 0; min-width: 0; display: flex; flex-direction: column; border-right: 1px solid var(--line); }
section:first-child { flex-grow: 1.5; }
section[hidden] { display: none; }
.code { flex: 1; overflow: auto; font: 12px/1.45 ui-monospace, monospace; white-space: pre; tab-size: 4; }
.code:focus-visible { outline: 2px solid var(--badge); outline-offset: -2px; }
.l { padding: 0 8px; min-width: max-content; }
.l[data-n] { cursor: pointer; }
.l.mark { background: var(--mark); }
.l.pin { background: var(--pin); }
.l.find { background: var(--find); }
.n { display: inline-block; width: 4ch; margin-right: 1ch; text-align: right; color: var(--dim); }
.bs { position: sticky; right: 4px; display: inline-block; margin-left: 1ch; }
.b { margin-left: 2px; padding: 0 4px; border: 1px solid var(--badge); border-radius: 3px; color: var(--badge);
  background: var(--bg); font: 11px system-ui, sans-serif; }
.keys { color: var(--dim); }
#tape { max-height: 40vh; overflow: auto; }
#tape p { margin: 4px 0; }
#tape label { margin-right: 12px; white-space: nowrap; }
#tape input { width: 12ch; }
#tape ol { margin: 4px 0; padding: 0; list-style: none; }
#tape li { display: flex; align-items: center; gap: 8px; margin: 2px 0; }
#tape button { font: inherit; color: inherit; background: none; border: 1px solid var(--dim); cursor: pointer;
  width: 32ch; text-align: left; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#tape svg { flex: none; }
#tape rect { fill: var(--badge); }
</style>
</head>
<body>
<header>
<h1>{{title}}</h1>
<label>Search <input id="search" type="search" autocomplete="off"></label> <span id="count" role="status"></span>
<details><summary>Summary</summary><pre>{{summary}}</pre></details>
<details><summary>Tape</summary><div id="tape"></div></details>
<details><summary>Keys</summary><pre>up, down or k, j: previous or next line of Python
Enter or click: keep it marked; Escape: unmark
/: search; n, N: next or previous match; 1 to 5: show or hide a pane; Tab: next pane
Tape: Tab goes through the numbers and the bars; Enter on a bar marks its line</pre></details>
</header>
<main id="panes"></main>
<script id="data" type="application/json">{{data}}</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("panes"), search = document.getElementById("search");
const count = document.getElementById("count");
const byLine = new Map();
let pinned = 0, shown = 0, matches = [], match = -1;
data.panes.forEach((pane, k) => {
  const section = document.createElement("section"), head = document.createElement("h2");
  const code = document.createElement("div"), python = pane.id === "python";
  head.id = "h-" + pane.id;
  head.textContent = (k + 1) + " " + pane.title;
  section.setAttribute("aria-labelledby", head.id);
  code.className = "code";
  code.id = pane.id;
  code.tabIndex = 0;
  code.setAttribute("role", python ? "listbox" : "region");
  code.setAttribute("aria-label", pane.title + (python ? ", lines" : ", text"));
  pane.lines.forEach(([text, n]) => {
    const line = document.createElement("div");
    line.className = "l";
    if (python) {
      line.setAttribute("role", "option");
      line.setAttribute("aria-selected", "false");
      line.id = "py-" + n;
      const number = document.createElement("span");
      number.className = "n";
      number.textContent = n;
      line.append(number);
    }
    line.append(text || " ");
    if (python && data.badges[n]) {
      const badges = document.createElement("span");
      badges.className = "bs";
      for (const badge of data.badges[n]) {
        const label = document.createElement("span");
        label.className = "b";
        label.textContent = badge;
        badges.append(label);
      }
      line.append(badges);
    }
    if (n) {
      line.dataset.n = n;
      if (!byLine.has(n)) byLine.set(n, []);
      byLine.get(n).push(line);
    }
    code.append(line);
  });
  section.append(head, code);
  main.append(section);
});
function into(line) {
  const box = line.closest(".code");
  const top = line.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 24) box.scrollTop = top - box.clientHeight / 3;
}
function show(n, scroll, from) {
  for (const line of byLine.get(shown) || []) line.classList.remove("mark");
  shown = n;
  const lines = byLine.get(n) || [], done = new Set();
  for (const line of lines) {
    line.classList.add("mark");
    const box = line.closest(".code");
    if (scroll && box !== from && !done.has(box)) { done.add(box); into(line); }
  }
}
function pin(n, from) {
  for (const line of byLine.get(pinned) || []) {
    line.classList.remove("pin");
    if (line.id) line.setAttribute("aria-selected", "false");
  }
  pinned = n;
  for (const line of byLine.get(n) || []) {
    line.classList.add("pin");
    if (line.id) line.setAttribute("aria-selected", "true");
  }
  const python = document.getElementById("python");
  if (document.getElementById("py-" + n)) python.setAttribute("aria-activedescendant", "py-" + n);
  else python.removeAttribute("aria-activedescendant");
  show(n, true, from);
}
main.addEventListener("mouseover", event => {
  const line = event.target.closest(".l[data-n]");
  if (line) show(Number(line.dataset.n), false);
});
main.addEventListener("mouseleave", () => show(pinned, false));
main.addEventListener("click", event => {
  const line = event.target.closest(".l[data-n]");
  if (line) pin(Number(line.dataset.n), line.closest(".code"));
});
function step(by) {
  const lines = data.panes[0].lines.map(([, n]) => n);
  const at = lines.indexOf(pinned);
  const to = lines[Math.max(0, Math.min(lines.length - 1, at < 0 ? 0 : at + by))];
  pin(to);
}
function find() {
  for (const line of matches) line.classList.remove("find");
  const text = search.value.toLowerCase();
  matches = text ? [...main.querySelectorAll(".l")].filter(l => l.textContent.toLowerCase().includes(text)) : [];
  for (const line of matches) line.classList.add("find");
  match = -1;
  count.textContent = text ? matches.length + " lines" : "";
  if (matches.length) next(1);
}
function next(by) {
  if (!matches.length) return;
  match = (match + by + matches.length) % matches.length;
  into(matches[match]);
  if (matches[match].dataset.n) pin(Number(matches[match].dataset.n), matches[match].closest(".code"));
  count.textContent = (match + 1) + " of " + matches.length + " lines";
}
function shownBytes(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  let k = 0;
  while (bytes >= 999.5 && k < units.length - 1) { bytes /= 1000; k++; }
  return Number(bytes.toPrecision(3)) + " " + units[k];
}
function drawTape() {
  const box = document.getElementById("tape"), { values, schedule } = data.tape, sizes = new Map();
  const say = text => { const p = document.createElement("p"); p.textContent = text; box.append(p); };
  if (!values.length) return say("Nothing is stored: the reverse sweep computes again what it needs.");
  if (schedule) say("There is a schedule: these are the values of the iterations between two snapshots.");
  for (const name of values.flatMap(value => value.factors)) {
    if (typeof name === "number" || sizes.has(name)) continue;
    const label = document.createElement("label"), input = document.createElement("input");
    input.type = "number";
    input.min = 0;
    input.value = 1000;
    input.addEventListener("input", bars);
    sizes.set(name, input);
    label.append(name + " ", input);
    box.append(label);
  }
  const list = document.createElement("ol");
  list.setAttribute("aria-label", "bytes of the tape by source line, most first");
  box.append(list);
  if (values.some(value => value.refers)) say("+: of references to arrays; the arrays come on top of these bytes.");
  const rows = new Map();
  for (const value of values) {
    if (!rows.has(value.line)) {
      const item = document.createElement("li"), button = document.createElement("button");
      button.addEventListener("click", () => pin(value.line));
      item.innerHTML = '<svg width="240" height="14" role="img"><rect height="14"/></svg>';
      item.prepend(button);
      item.append(document.createElement("span"));
      rows.set(value.line, { item, values: [] });
    }
    rows.get(value.line).values.push(value);
  }
  function bars() {
    const size = factor => typeof factor === "number" ? factor : Math.max(0, Number(sizes.get(factor).value));
    const bytes = value => value.factors.reduce((product, factor) => product * size(factor), value.bytes);
    const sum = numbers => numbers.reduce((a, b) => a + b, 0);
    const ranked = [...rows].map(([line, row]) => ({ line, ...row, bytes: sum(row.values.map(bytes)) }));
    ranked.sort((a, b) => b.bytes - a.bytes || a.line - b.line);
    const total = sum(ranked.map(row => row.bytes)), most = ranked[0].bytes;
    for (const { line, item, values, bytes } of ranked) {
      const names = [...new Set(values.map(value => value.name + (value.refers ? " +" : "")))].join(", ");
      const text = shownBytes(bytes) + (total ? " (" + Math.round(100 * bytes / total) + " %)" : "");
      item.querySelector("button").textContent = item.querySelector("button").title = "line " + line + ": " + names;
      item.querySelector("svg").setAttribute("aria-label", "bar of line " + line + ": " + text);
      item.querySelector("rect").setAttribute("width", most ? 240 * bytes / most : 0);
      item.querySelector("span").textContent = text;
    }
    const focused = document.activeElement, kept = ranked.map(row => row.item);
    if (kept.some((item, k) => list.children[k] !== item)) list.append(...kept);
    if (focused !== document.activeElement) focused.focus();
  }
  bars();
}
drawTape();
search.addEventListener("input", find);
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement === search) {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") { search.value = ""; find(); document.getElementById("python").focus(); }
    else return;
  }
  else if (document.activeElement.type === "number") return;
  else if (event.key === "Enter" && document.activeElement.matches("button, summary")) return;
  else if (event.key === "/") search.focus();
  else if (event.key === "n") next(1);
  else if (event.key === "N") next(-1);
  else if (event.key === "j" || (event.key === "ArrowDown" && document.activeElement.id === "python")) step(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && document.activeElement.id === "python")) step(-1);
  else if (event.key === "Escape") pin(0);
  else if (event.key === "Enter" && shown) pin(shown);
  else if (event.key >= "1" && event.key <= String(data.panes.length)) {
    const section = main.children[Number(event.key) - 1];
    section.hidden = !section.hidden;
  }
  else return;
  event.preventDefault();
});
</script>
</body>
</html>
"""
