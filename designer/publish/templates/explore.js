"use strict";
/* Shows the numbers that the page holds. Nothing is computed here that a reader takes for a result: every result is a text that
   was made with the page, and only places on a screen are worked out. */
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const budgets = data.choices[data.choices.length - 1].values;
const LABELS = { adjacency: "Records that change together", delta: "Delta", budget: data.label };
const state = { change: 0, answer: 0, records: data.records, drawn: new Set() };
data.choices.forEach((choice) => { state[choice.name] = choice.own; });
data.families.filter((family) => family.drawn).forEach((family) => state.drawn.add(family.name));

/* A text such as "1,240,000", "1.2 times 10^15", "51.3 %" or "2.5e-7" as a number; NaN where it is none. */
function number(text) {
  const plain = (text || "").replace(/,/g, "").replace(" times 10^", "e").replace(/^[^\d-]*/, "");
  return plain === "" ? NaN : parseFloat(plain);
}

/* An element with attributes and content. */
function make(name, attributes = {}, ...content) {
  const svg = ["svg", "g", "path", "line", "text", "circle", "rect", "title"].includes(name) && "svg" in make.inside;
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...content);
  return made;
}
make.inside = {};
function drawing(width, height, label, fill) {
  make.inside = { svg: true };
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  fill(svg);
  make.inside = {};
  return svg;
}

/* The point of the numbers that are chosen, with another budget where one is given. */
function point(budget = state.budget) {
  let place = 0;
  data.choices.forEach((choice) => {
    place = place * choice.values.length + (choice.name === "budget" ? budget : state[choice.name]);
  });
  return data.points[place];
}
const row = (here) => here.odds[Math.min(state.change, here.odds.length - 1)];
const unit = (answer) => (answer.unit ? ` ${answer.unit}` : "");
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/* A slider with its value in words, for eyes and for screen readers. */
function slider(home, id, label, most, value, words, moved) {
  const input = make("input", { type: "range", id, min: 0, max: most, step: 1, value });
  const shown = make("output", { for: id });
  const tell = () => {
    shown.textContent = words(+input.value);
    input.setAttribute("aria-valuetext", words(+input.value));
  };
  input.addEventListener("input", () => { moved(+input.value); tell(); draw(); });
  tell();
  home.append(make("div", {}, make("label", { for: id }, label, shown), input));
}

function controls() {
  const form = at("controls");
  [...data.choices].reverse().filter((choice) => choice.values.length > 1).forEach((choice) =>
    slider(form, `slide-${choice.name}`, capital(LABELS[choice.name]), choice.values.length - 1, choice.own,
      (k) => choice.values[k] + (k === choice.own ? " (as in the file)" : ""), (k) => { state[choice.name] = k; }));
  const changes = point().odds.length;
  state.change = changes - 1;
  if (changes > 1) {
    slider(form, "slide-change", "What the attacker tells apart", changes - 1, state.change,
      (k) => (point().odds[Math.min(k, point().odds.length - 1)] || [""])[0], (k) => { state.change = k; });
  }
  if (!data.reports && data.answers.length > 1) {
    const select = make("select", { id: "answer" });
    data.answers.forEach((answer, k) => select.append(make("option", { value: k }, answer.name)));
    select.addEventListener("change", () => { state.answer = +select.value; draw(); });
    form.append(make("div", {}, make("label", { for: "answer" }, "Answer that is drawn"), select));
  }
  data.families.forEach((family, k) => {
    const box = make("input", { type: "checkbox", id: `family-${k}` });
    box.checked = state.drawn.has(family.name);
    box.addEventListener("change", () => { state.drawn[box.checked ? "add" : "delete"](family.name); draw(); });
    const same = make("span", { class: "said-too" }, family.same.length ? ` (the same: ${family.same.join("; ")})` : "");
    const key = drawing(30, 8, "", (svg) => svg.append(make("path", { d: "M0 4H30", ...style(k) })));
    key.setAttribute("class", "key");
    key.setAttribute("aria-hidden", "true");
    at("legend").append(make("label", { for: `family-${k}` }, box, key, make("span", {}, capital(family.words), same)));
  });
}

const style = (k) => ({ class: `curve c${k % 8}`, "stroke-dasharray": ["none", "7 3", "2 3", "9 3 2 3"][(k + (k >> 3)) % 4] });

/* Places from low to high on an axis of some length; ticks at 1, 2 and 5 times powers of ten. */
function scale(low, high, length, log) {
  const of = log ? Math.log10 : (x) => x;
  const place = (x) => ((of(x) - of(low)) / (of(high) - of(low) || 1)) * length;
  const steps = log ? [[1, 2, 5], [1, 3], [1]] : [[1]];
  const powers = Array.from({ length: log ? Math.ceil(Math.log10(high / low)) + 2 : 0 }, (_, k) => Math.floor(Math.log10(low)) + k);
  const lists = steps.map((list) => {
    const ticks = log ? powers.flatMap((power) => list.map((step) => Number(`${step}e${power}`)))
      : Array.from({ length: 6 }, (_, k) => low + (k * (high - low)) / 5);
    return ticks.filter((tick) => tick >= low * 0.999999 && tick <= high * 1.000001);
  });
  return { place, ticks: lists.find((list) => list.length <= 8) || lists[lists.length - 1] };
}
const short = (x) => (x >= 1e6 || (x < 1e-3 && x > 0) ? x.toExponential(0).replace("e+", "e") : String(Number(x.toPrecision(3))));

/* Curves over the budgets. series: the place of a family or -1, and a number for each budget. floor: a number for each. */
function chart(home, label, words, series, floor, percent, upright = "") {
  const [width, height, left, low] = [560, 345, 56, 44];
  const all = series.flatMap((one) => one.values).concat(floor).filter((x) => x > 0 && Number.isFinite(x));
  const xs = budgets.map(number);
  const x = scale(Math.min(...xs), Math.max(...xs), width - left - 12, true);
  const bottom = percent ? (Math.min(...all) < 50 ? 0 : 50) : Math.min(...all) / 1.15;
  const y = scale(bottom, percent ? 100 : Math.max(...all) * 1.15, height - low - 28, !percent);
  const [px, py] = [(k) => left + x.place(xs[k]), (v) => height - low - y.place(v)];
  const path = (values) => values.map((v, k) => (v > 0 && Number.isFinite(v)
    ? `${k && values[k - 1] > 0 ? "L" : "M"}${px(k).toFixed(1)} ${py(Math.max(v, bottom)).toFixed(1)}` : "")).join("");
  at(home).replaceChildren(all.length ? drawing(width, height, label, (svg) => {
    y.ticks.forEach((tick) => svg.append(
      make("line", { class: "grid", x1: left, x2: width - 12, y1: py(tick), y2: py(tick) }),
      make("text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end" }, short(tick) + (percent ? " %" : ""))));
    x.ticks.forEach((tick) => svg.append(
      make("text", { x: left + x.place(tick), y: height - low + 17, "text-anchor": "middle" }, short(tick))));
    svg.append(make("text", { x: 4, y: 12 }, upright), make("line", { class: "axis", x1: left, x2: width - 12, y1: height - low, y2: height - low }),
      make("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, capital(data.label)));
    const known = floor.map((v, k) => (v > 0 ? k : -1)).filter((k) => k >= 0);
    if (known.length) {
      svg.append(make("path", { class: "floor", d: `M${px(known[0])} ${height - low}`
        + known.map((k) => `L${px(k).toFixed(1)} ${py(floor[k]).toFixed(1)}`).join("")
        + `L${px(known[known.length - 1])} ${height - low}Z` }));
    }
    svg.append(make("line", { class: "here", x1: px(state.budget), x2: px(state.budget), y1: 24, y2: height - low }));
    series.forEach((one) => {
      svg.append(make("path", { d: path(one.values), ...(one.place < 0 ? { class: "curve" } : style(one.place)) }));
      const v = one.values[state.budget];
      if (v > 0) {
        svg.append(make("circle", { cx: px(state.budget), cy: py(Math.max(v, bottom)), r: 4,
          class: one.place < 0 ? "dot" : `dot c${one.place % 8}` }));
      }
    });
  }) : "No noise, at any budget.");
  at(`${home}-words`).textContent = words;
}

/* What every family has for an answer at every budget, of those that are drawn. */
function curves(answer) {
  return data.families.map((family, place) => ({ family, place })).filter(({ family }) => state.drawn.has(family.name)).map(
    ({ family, place }) => ({ place, values: budgets.map((_, k) => number((point(k).families[family.name] || [])[answer])) }));
}

function draw() {
  const [here, answer] = [point(), data.answers[state.answer]];
  const best = data.families.find((family) => family.name === here.best);
  const floor = budgets.map((_, k) => number(point(k).floor[state.answer]));
  const shaded = floor.some((v) => v > 0)
    ? ` Shaded: proven, ${data.reports ? "no report with this guarantee" : "no additive noise with this guarantee"} goes there.`
    : " No lower bound is drawn here.";
  const title = answer.name === "all answers together" || data.reports
    ? capital(answer.words) : `${answer.name}: ${answer.words}${answer.unit ? `, in ${answer.unit}` : ""}`;
  chart("accuracy", `${title}, by budget; the numbers are in a table below`, `${title}.${shaded}`, curves(state.answer), floor, false,
    answer.words.startsWith("off by") ? `±${unit(answer)}` : capital(answer.words));
  const change = row(here);
  const guesses = budgets.map((_, k) => number((row(point(k)) || [])[4]));
  if (data.reports) {
    chart("attack", "Right guesses by budget", `${capital(data.answers[1].words)}, by budget.`, curves(1), [], true, "Right guesses");
  } else {
    chart("attack", "Right guesses by budget",
      change ? `Right guesses at most, where ${change[0]}; 50 % is chance.` : "", [{ place: -1, values: guesses }], [], true, "Right guesses at most");
  }
  at("odds").replaceChildren(...here.odds.map((cells) => make("tr", cells === change ? { class: "here" } : {},
    make("th", { scope: "row", "data-label": "What may change" }, cells[0]), ...cells.slice(1, 5).map((cell, k) =>
      make("td", { class: "number", "data-label": ["budget", "odds shift by at most", "1 in 20 becomes at most", "right guesses at most"][k] }, cell)))));
  const butFor = here.odds.map((cells) => cells[5]).find((words) => words) || "";
  at("but-for").textContent = butFor ? ` Odds and chances hold${butFor}.` : "";
  say(here, best, answer, change);
  intervals(here, best);
  table(here, answer);
  toml(best);
}

/* The sentence that is read aloud. */
function say(here, best, answer, change) {
  if (!best) return void (at("said").textContent = "No family has a mechanism at this budget.");
  const told = here.families[best.name];
  const needed = here.floor[state.answer];
  const sentence = [`${capital(data.label)} ${budgets[state.budget]}: least loss by ${best.words.split(":")[0]}.`];
  if (data.reports) {
    sentence.push(`${capital(answer.words)}: ${told[0]}.`, `An attacker who knows the prior guesses right in at most ${told[1]} of all cases.`);
  } else {
    sentence.push(answer.words.startsWith("off by") ? (told[state.answer] === "0" ? `${answer.name} gets no noise.`
      : `${answer.name} is off by at most ${told[state.answer]}${unit(answer)}, 95 % of the time.`)
      : `${capital(answer.words)}: ${told[state.answer]}.`);
  }
  if (needed && needed !== "0") sentence.push(`At least ${needed} is needed.`);
  if (change) sentence.push(`Where ${change[0]}, odds shift by at most ${change[2]}${change[5]}.`);
  sentence.push(`Guarantee: ${here.privacy}.`);
  at("said").textContent = sentence.join(" ");
}

function intervals(here, best) {
  if (!data.made_up || !best) { at("made-up-part").hidden = true; return; }
  const widths = here.families[best.name];
  const scaled = data.made_up.map((x) => (x * state.records) / data.records);
  const reach = Math.max(...scaled.map((x, k) => Math.abs(x) + (number(widths[k]) || 0))) || 1;
  const rows = scaled.map((x, k) => {
    const wide = number(widths[k]);
    const bar = drawing(200, 14, "", (svg) => {
      const to = (v) => 4 + (192 * Math.max(0, Math.min(Math.abs(x) + v, reach))) / reach;
      if (wide > 0) svg.append(make("line", { class: "bar", x1: to(-wide), x2: to(wide), y1: 7, y2: 7 }));
      svg.append(make("circle", { class: "truth", cx: to(0), cy: 7, r: 3 }));
    });
    bar.setAttribute("aria-hidden", "true");
    const share = x && wide >= 0 ? `${short(Number(((100 * wide) / Math.abs(x)).toPrecision(2)))} %` : "";
    return make("tr", {}, make("th", { scope: "row", "data-label": "Answer" }, data.answers[k].name),
      make("td", { class: "number", "data-label": "made up" }, Math.round(x).toLocaleString("en")),
      make("td", { class: "number", "data-label": "95 % interval" }, wide >= 0 ? `± ${widths[k]}${unit(data.answers[k])}` : widths[k]),
      make("td", { class: "number", "data-label": "of the answer" }, share), make("td", { "data-label": "from 0" }, bar));
  });
  const heads = ["Answer", "made up", "95 % interval", "of the answer", "from 0"];
  at("made-up").querySelector("tbody").replaceChildren(...rows);
  at("made-up").querySelector("thead").replaceChildren(make("tr", {}, ...heads.map((head, k) => make("th", { scope: "col", class: k % 4 ? "number" : "" }, head))));
}

function table(here, answer) {
  const shown = data.families.filter((family) => state.drawn.has(family.name));
  const heads = [capital(data.label), ...shown.map((family) => capital(family.words)), "Proven to be needed"];
  const body = budgets.map((budget, k) => make("tr", k === state.budget ? { class: "here" } : {}, make("th", { scope: "row" }, budget),
    ...shown.map((family) => make("td", { class: "number" }, (point(k).families[family.name] || [])[state.answer] || "not designed")),
    make("td", { class: "number" }, point(k).floor[state.answer] || "not stated")));
  at("numbers").replaceChildren(make("caption", {}, `${answer.name}: ${answer.words}${unit(answer) && `, in${unit(answer)}`}`),
    make("thead", {}, make("tr", {}, ...heads.map((head, k) => make("th", { scope: "col", class: k ? "number" : "" }, head)))),
    make("tbody", {}, ...body));
}

function toml(best) {
  const chosen = {};
  data.choices.forEach((choice) => { chosen[choice.name] = choice.values[state[choice.name]]; });
  at("toml").textContent = data.pieces.map((piece, k) => (k % 2 ? chosen[piece] : piece)).join("");
  const family = best ? ` --family ${best.name.split(",")[0]}` : "";
  at("command").textContent = `dp-designer design chosen.toml${family} -o spec.json`;
  at("copied").textContent = "";
}

at("copy").addEventListener("click", () => {
  const done = () => { at("copied").textContent = "Copied."; };
  const select = () => {
    getSelection().selectAllChildren(at("toml"));
    at("copied").textContent = document.execCommand("copy") ? "Copied." : "Selected: press Ctrl+C to copy.";
  };
  if (navigator.clipboard) navigator.clipboard.writeText(at("toml").textContent).then(done, select); else select();
});
at("made-up").append(make("div", { class: "made-up" }), make("table", {}, make("thead"), make("tbody")));
slider(at("made-up").firstChild, "slide-records", "Records of the made-up table", 4, 1,
  (k) => (100 * 10 ** k).toLocaleString("en"), (k) => { state.records = 100 * 10 ** k; });
data.notes.concat(data.more ? [`${data.more} further answers are not drawn.`] : []).forEach((note) => at("notes").append(make("li", {}, note)));
controls();
draw();
