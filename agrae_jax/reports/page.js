"use strict";
// Completions are data: everything is set as text, nothing as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const control = (id) => document.getElementById(id);
const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const percent = (x) => Math.round(100 * x) + " %";

function groupsOf(rows) {
  const byDraw = new Map();
  for (const row of rows) {
    if (!byDraw.has(row.draw)) byDraw.set(row.draw, []);
    byDraw.get(row.draw).push(row);
  }
  return [...byDraw.values()];
}

const shown = {
  all: () => true,
  mixed: (g) => { const c = share(g); return c > 0 && c < 1; },
  dead: (g) => { const c = share(g); return !(c > 0 && c < 1); },
  rare: (g) => { const c = share(g); return c > 0 && c <= 0.25; },
  truncated: (g) => g.some((r) => r.stop === "length"),
  ungradable: (g) => g.some((r) => r.outcome === "ungradable"),
};

function share(group) {
  const valid = group.filter((r) => r.outcome !== "ungradable");
  return valid.filter((r) => r.outcome === "correct").length / Math.max(valid.length, 1);
}

function matches(group, words) {
  if (!words) return true;
  return group.some((r) =>
    [r.question, r.gold, r.completion, r.answer, r.rule, r.reason, r.level]
      .some((x) => x && String(x).toLowerCase().includes(words)));
}

// One token: red where the weight is below zero, blue above, strength by size.
function tint(weight) {
  const strength = Math.round(Math.min(Math.abs(weight), 1) * 60);
  const colour = weight < 0 ? "213, 94, 0" : "0, 114, 178";
  return "rgba(" + colour + ", " + strength / 100 + ")";
}

const weights = {
  entropy: (r) => r.entropy.map((x) => x / 3),
  surprise: (r) => r.logprob.map((x) => -x / 5),
  push: (r) => r.logprob.map((x) => r.advantage * (1 - Math.exp(x))),
};

function completion(row, colour) {
  const pre = make("pre");
  if (colour && row.pieces) {
    const weight = weights[colour](row);
    row.pieces.forEach((piece, i) => {
      const token = make("span", "", piece);
      token.style.backgroundColor = tint(weight[i]);
      token.title = "entropy " + row.entropy[i] + ", log-prob " + row.logprob[i];
      pre.append(token);
    });
    return pre;
  }
  // Spans count characters, and JavaScript's strings count halves of some of them.
  const characters = Array.from(row.completion);
  const [start, end] = row.span || [0, 0];
  pre.append(characters.slice(0, start).join(""));
  if (end > start) pre.append(make("mark", "", characters.slice(start, end).join("")));
  pre.append(characters.slice(end).join(""));
  if (row.stop === "length") pre.append(make("i", "", " [cut at the limit]"));
  return pre;
}

function sample(row, step, colour) {
  const node = make("article", "sample " + row.outcome);
  node.id = ["rollout", step, row.draw, row.sample].join("-");
  node.append(completion(row, colour));
  const verdict = make("div", "verdict");
  verdict.append(make("b", "", row.outcome));
  if (row.answer !== null) verdict.append(", answer ", make("b", "", row.answer));
  verdict.append(" (" + row.rule + ": " + row.reason + ")", make("br"));
  verdict.append("reward " + (row.reward ?? "no number") + ", advantage " +
    (row.advantage === null ? "no number" : Number(row.advantage).toFixed(3)) +
    ", " + row.tokens + " tokens ");
  const link = make("a", "", "link");
  link.href = "#" + node.id;
  verdict.append(link);
  node.append(verdict);
  return node;
}

function show() {
  const step = control("step").value;
  const words = control("search").value.trim().toLowerCase();
  const groups = groupsOf(data[step] || []);
  const chosen = groups.filter((g) => shown[control("filter").value](g) && matches(g, words));
  control("count").textContent = chosen.length + " of " + groups.length + " groups";
  control("groups").replaceChildren(...chosen.map((group) => {
    const first = group[0];
    const node = make("section", "group");
    const head = make("p");
    head.append(make("b", "", first.question), make("br"),
      "gold " + first.gold + (first.level ? ", level " + first.level : "") + ", right " +
      percent(share(group)) + ", draw " + first.draw);
    const samples = make("div", "samples");
    samples.append(...group.map((row) => sample(row, step, control("colour").value)));
    node.append(head, samples);
    return node;
  }));
}

function follow() {
  const found = location.hash.match(/^#rollout-(\d+)-(\d+)-(\d+)$/);
  if (!found || !(found[1] in data)) return;
  control("step").value = found[1];
  control("filter").value = "all";
  control("search").value = "";
  show();
  document.querySelectorAll(".target").forEach((x) => x.classList.remove("target"));
  const node = document.getElementById(location.hash.slice(1));
  if (node) { node.classList.add("target"); node.scrollIntoView({ block: "center" }); }
}

const steps = Object.keys(data).sort((a, b) => a - b);
control("step").append(...steps.map((step) => new Option(step, step)));
if (steps.length) control("step").value = steps[steps.length - 1];
if (Object.values(data).some((rows) => rows.some((r) => r.pieces))) {
  control("colour").append(new Option("entropy of the token", "entropy"),
    new Option("surprise (- log-prob)", "surprise"),
    new Option("push: advantage x (1 - probability)", "push"));
}
control("controls").addEventListener("input", show);
control("controls").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", follow);
show();
follow();
