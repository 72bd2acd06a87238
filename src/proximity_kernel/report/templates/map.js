// The panel beside the map: the nearest rows of the chosen one, and why they are near.
const VERDICTS = {
  same: ["●", "same"],
  close: ["◐", "close"],
  perhaps: ["?", "perhaps"],
  different: ["○", "different"],
  unknown: ["–", "not comparable"],
};
const ESTIMATED = -1;
const UNKNOWN = -2;
const FEW = 12;

// row -> feature -> its estimate
const estimates = new Map();
for (const [row, feature, ...rest] of data.estimates) {
  if (!estimates.has(row)) estimates.set(row, new Map());
  estimates.get(row).set(feature, rest);
}

// Names may break after the marks that join words.
function breakable(text) {
  const parts = text.split(/(?<=[_.-])/);
  return make("bdi", {}, ...parts.flatMap((part, k) => (k ? [make("wbr"), part] : [part])));
}

// Numbers, dates and times stay in one line, as in the page's own text.
const WHOLE = /(?<!\w)([-+]?\d[\d,.:+-]{0,22}(?:e[+-]?\d+)?(?: %| s\b)?)(?!\w)/;
const whole = (text) =>
  text.split(WHOLE).map((part, k) => (k % 2 ? make("span", { class: "whole", text: part }) : part));

function judge(j, a, b) {
  const { bins, groups } = data.columns[j];
  const [left, right] = [bins[a], bins[b]];
  if (left === ESTIMATED || right === ESTIMATED) return "perhaps";
  if (left === UNKNOWN || right === UNKNOWN) return "unknown";
  if (left === right) return "same";
  const close = groups && left < groups.length && right < groups.length;
  return close && groups[left] === groups[right] ? "close" : "different";
}

// The value of a cell; if it is missing, its estimate and where this comes from.
function describeCell(j, row) {
  const column = data.columns[j];
  const bin = column.bins[row];
  const value = column.values[row];
  if (bin === ESTIMATED) {
    const [nMatching, nMovers, ...rest] = estimates.get(row).get(j);
    const movers = rest.slice(0, nMovers).map((i) => data.columns[i].name);
    const shares = rest.slice(nMovers);
    const likely = [];
    for (let k = 0; k < shares.length; k += 2) {
      likely.push(`${column.names[shares[k]]} ${shares[k + 1]} %`);
    }
    let basis = "as in the whole column";
    if (nMovers) basis = `from ${movers.join(", ")}`;
    else if (nMatching) basis = `from ${count(nMatching, "matching row")}`;
    return [
      make("em", { text: "missing" }),
      make("span", { class: "note" },
        ...whole(`estimated: ${likely.join(", ")}, ${basis}`)),
    ];
  }
  if (value === null) {
    const note = column.kind === "empty" ? "no value is observed in this column" : "counted as a value of its own";
    return [make("em", { text: "missing" }), make("span", { class: "note", text: note })];
  }
  const written = writeValue(column, value);
  const cell = [make("bdi", {}, ...whole(written))];
  if (bin === UNKNOWN) cell.push(make("span", { class: "note", text: "not in the fitted table" }));
  else if (!column.labels && column.names[bin] !== written) {
    cell.push(make("span", { class: "note" }, ...whole(column.names[bin])));
  }
  return cell;
}

function compare(row, nth) {
  const other = data.near[row][nth];
  const agreement = data.agreement[row][nth];
  const features = data.columns.map((_, j) => j).filter((j) => data.columns[j].kind !== "empty");
  features.sort((a, b) => agreement[b] - agreement[a] || a - b);
  const tally = {};
  const body = make("tbody", { "data-more": FEW, "data-noun": "columns" });
  for (const j of features) {
    const verdict = judge(j, row, other);
    tally[verdict] = (tally[verdict] || 0) + 1;
    const [mark, word] = VERDICTS[verdict];
    const label = verdict === "perhaps" ? `${word}, ${agreement[j]} %` : word;
    body.append(
      make("tr", { class: `is-${verdict}` },
        make("th", { scope: "row" },
          breakable(data.columns[j].name),
          make("span", { class: "verdict" }, make("span", { "aria-hidden": "true", text: mark + " " }), label)),
        make("td", {}, ...describeCell(j, row)),
        make("td", {}, ...describeCell(j, other))),
    );
  }
  const parts = Object.keys(VERDICTS).filter((one) => tally[one])
    .map((one) => `${VERDICTS[one][1]} in ${tally[one]}`);
  const head = make("tr", {},
    make("th", { scope: "col", text: "Column" }),
    make("th", { scope: "col" }, make("bdi", { text: data.ids[row] })),
    make("th", { scope: "col" }, make("bdi", { text: data.ids[other] })));
  const summary = `Similarity ${(data.similarity[row][nth] / 1000).toFixed(2)}. Of ${count(features.length, "column")}: ${parts.join(", ")}.`;
  const lead = make("p", { class: "because", text: summary, role: "status" });
  byId("why").replaceChildren(lead, make("table", { class: "compare" }, make("thead", {}, head), body));
  fold(body);
  if (other < data.n) {
    const go = make("button", { type: "button", class: "more", text: "Go to this row" });
    go.addEventListener("click", () => select(other));
    byId("why").append(go);
  }
}

function showNear(row) {
  const title = byId("panel-title");
  title.replaceChildren("Row ", make("bdi", { text: data.ids[row] }));
  if (data.clusters) title.append(make("span", { class: "note", text: ` in cluster ${data.clusters[row]}` }));
  const near = data.near[row];
  byId("panel-lead").textContent = near.length
    ? `Its ${near.length === 1 ? "nearest row" : near.length + " nearest rows"}, with their similarity. Choose one to see why.`
    : "There is no other row.";
  const buttons = near.map((other, nth) => {
    const similarity = data.similarity[row][nth] / 1000;
    const button = make("button", { type: "button", "aria-pressed": String(nth === 0) },
      make("bdi", { text: data.ids[other] }),
      make("span", { class: "note", text: similarity.toFixed(2) }));
    button.style.setProperty("--part", `${100 * similarity}%`);
    button.addEventListener("click", () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      compare(row, nth);
    });
    return button;
  });
  byId("near").replaceChildren(...buttons);
  byId("why").replaceChildren();
  if (near.length) compare(row, 0);
}

// The map: rows as points, colored by a column of choice. One row is selected at a time.
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
// Dark to light, by lightness alone; each starts and ends off its background.
const SCALES = {
  light: ["#00224e", "#35456c", "#666970", "#948e77", "#c3ad55", "#e8c72f"],
  dark: ["#4565a8", "#6f7fa6", "#92938f", "#b5aa74", "#dac75d", "#fff2a6"],
};
const scale = () => SCALES[dark.matches ? "dark" : "light"];
const MOST_COLORS = 8;
const shownRows = Array.from({ length: data.n }, (_, i) => i);
let chosen = null;

const palette = () => SYMBOLS.map((_, k) => color(`--mark-${k}`));

function paintLabels(values, labels) {
  const counts = new Map();
  values.forEach((v) => v !== null && counts.set(v, (counts.get(v) || 0) + 1));
  let kept = [...counts.keys()].sort((a, b) => a - b);
  if (kept.length > MOST_COLORS && labels.length > MOST_COLORS) {
    const common = [...kept].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
    kept = common.slice(0, MOST_COLORS - 1).sort((a, b) => a - b);
  }
  const colors = palette();
  const place = new Map(kept.map((v, k) => [v, k]));
  const look = (v) => {
    if (v === null) return ["circle-open", color("--ink-soft")];
    if (!place.has(v)) return ["circle", color("--other")];
    return [SYMBOLS[place.get(v) % MOST_COLORS], colors[place.get(v) % MOST_COLORS]];
  };
  const legend = kept.map((v) => [...look(v), `${labels[v]} (${count(counts.get(v))})`]);
  const rest = [...counts.keys()].filter((v) => !place.has(v));
  if (rest.length) {
    const n = rest.reduce((sum, v) => sum + counts.get(v), 0);
    legend.push(["circle", color("--other"), `${count(rest.length)} others (${count(n)})`]);
  }
  return { looks: values.map(look), legend };
}

function paintNumbers(values, write) {
  const known = values.filter((v) => v !== null).sort((a, b) => a - b);
  const at = (share) => known[Math.round(share * (known.length - 1))];
  const [low, high] = [at(0.02), at(0.98)];
  const shade = (v) => {
    // Halves: the difference of two numbers may be too large for one.
    const t = high > low ? (v / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    return mix(Math.min(1, Math.max(0, t || 0)));
  };
  const looks = values.map((v) => (v === null ? ["circle-open", color("--ink-soft")] : ["circle", shade(v)]));
  const ends = known.length && [
    known[0] < low ? `${write(low)} or less` : write(low),
    known[known.length - 1] > high ? `${write(high)} or more` : write(high),
  ];
  return { looks, legend: [], ends };
}

function mix(t) {
  const ramp = scale();
  const x = t * (ramp.length - 1);
  const k = Math.min(ramp.length - 2, Math.floor(x));
  const part = (color, from) => parseInt(color.slice(from, from + 2), 16);
  const rgb = [1, 3, 5].map((from) =>
    Math.round(part(ramp[k], from) + (x - k) * (part(ramp[k + 1], from) - part(ramp[k], from))));
  return `rgb(${rgb.join(",")})`;
}

function paint() {
  const by = byId("color-by").value;
  if (by === "clusters") {
    const most = Math.max(...data.clusters) + 1;
    const labels = Array.from({ length: most }, (_, k) => `Cluster ${k}`);
    const painted = paintLabels(shownRows.map((i) => data.clusters[i]), labels);
    return { ...painted, text: "cluster" };
  }
  if (by === "missing") {
    const missing = shownRows.map((i) => data.columns.reduce((n, column) => n + (column.values[i] === null), 0));
    return { ...paintNumbers(missing, String), text: "missing cells" };
  }
  const column = data.columns[Number(by)];
  const values = shownRows.map((i) => column.values[i]);
  const painted = column.labels
    ? paintLabels(values, column.labels)
    : paintNumbers(values, (v) => writeValue(column, v));
  const missing = values.filter((v) => v === null).length;
  if (missing) painted.legend.push(["circle-open", color("--ink-soft"), `missing (${count(missing)})`]);
  return { ...painted, text: column.name };
}

function describeRow(i) {
  const cluster = data.clusters ? `, cluster ${data.clusters[i]}` : "";
  return `row ${plain(shorten(data.ids[i], 40))}${cluster}`;
}

function drawMap() {
  const { looks, legend, ends } = paint();
  const spot = (rows) => ({ x: rows.map((i) => data.places[i][0]), y: rows.map((i) => data.places[i][1]) });
  const near = chosen === null ? [] : data.near[chosen];
  const ring = { type: "scatter", mode: "markers", hoverinfo: "skip" };
  const size = shownRows.length > 800 ? 7 : 9;
  const traces = [
    {
      type: "scatter", mode: "markers", ...spot(shownRows),
      text: shownRows.map(describeRow), hovertemplate: "%{text}<extra></extra>",
      marker: {
        size, opacity: 0.85, color: looks.map((look) => look[1]), symbol: looks.map((look) => look[0]),
        line: { width: 0.6, color: color("--edge") },
      },
    },
    { ...ring, ...spot(near), marker: { size: size + 8, symbol: "circle-open", color: color("--ink"), line: { width: 1.5 } } },
    { ...ring, ...spot(chosen === null ? [] : [chosen]), marker: { size: size + 13, symbol: "circle-open", color: color("--accent"), line: { width: 3.5 } } },
  ];
  const axis = { zeroline: false, showticklabels: false, showgrid: false, ticks: "" };
  const layout = {
    paper_bgcolor: "transparent", plot_bgcolor: "transparent", showlegend: false,
    font: { family: "inherit", color: color("--ink-soft"), size: 12 },
    margin: { l: 6, r: 6, t: 6, b: 6 }, hovermode: "closest", uirevision: "kept",
    dragmode: ask("(pointer: coarse)").matches ? false : "zoom",
    // One scale for both, so that near is near in every direction.
    xaxis: { ...axis }, yaxis: { ...axis, scaleanchor: "x" },
  };
  writeLegend(legend, ends);
  return Plotly.react(byId("map"), traces, layout, plotOptions);
}

const GLYPHS = {
  circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", cross: "✚", x: "✖",
  star: "★", "triangle-down": "▼", "circle-open": "○",
};

function writeLegend(legend, ends) {
  const items = legend.map(([symbol, shade, text]) => {
    const glyph = make("span", { "aria-hidden": "true", class: "glyph", text: GLYPHS[symbol] });
    glyph.style.color = shade;
    return make("li", {}, glyph, make("bdi", { text }));
  });
  if (ends) {
    const ramp = make("span", { class: "ramp", "aria-hidden": "true" });
    ramp.style.background = `linear-gradient(90deg, ${scale().join(",")})`;
    items.unshift(make("li", {}, make("span", { text: ends[0] }), ramp, make("span", { text: ends[1] })));
  }
  byId("legend").replaceChildren(...items);
}

function select(i) {
  chosen = i;
  byId("row").value = data.ids[i];
  const [x, y] = data.places[i];
  const here = shownRows.filter((k) => data.places[k][0] === x && data.places[k][1] === y).length;
  const off = data.near[i].filter((other) => other >= data.n).length;
  const notes = [];
  if (here > 1) notes.push(`${count(here)} rows share this point.`);
  if (off) notes.push(`${off} of its ${count(data.near[i].length, "nearest row")} ${off === 1 ? "is" : "are"} not among the rows drawn; rings mark the places.`);
  byId("row-note").textContent = notes.join(" ");
  drawMap();
  showNear(i);
}

// The nearest row in a direction, a step to the side counting double.
function step(dx, dy) {
  if (chosen === null) return select(0);
  const [x, y] = data.places[chosen];
  let best = null;
  let least = Infinity;
  shownRows.forEach((i) => {
    const [u, v] = data.places[i];
    const along = (u - x) * dx + (v - y) * dy;
    const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
    const far = along + 2 * aside;
    if (along > 1e-9 && far < least) [best, least] = [i, far];
  });
  if (best !== null) select(best);
}

function startMap() {
  const options = [];
  if (data.clusters) options.push(["clusters", "cluster"]);
  options.push(["missing", "number of missing cells"]);
  data.columns.forEach((column, j) => column.kind !== "empty" && options.push([String(j), shorten(column.name, 60)]));
  const first = data.clusters ? 0 : Math.min(1, options.length - 1);
  byId("color-by").append(...options.map(([value, text]) => make("option", { value, text })));
  byId("color-by").selectedIndex = first;
  byId("row-list").append(...shownRows.map((i) => make("option", { value: data.ids[i] })));
  byId("color-by").addEventListener("change", drawMap);
  byId("row").addEventListener("change", findRow);
  const turn = (by) => select(chosen === null ? 0 : (chosen + by + shownRows.length) % shownRows.length);
  byId("before").addEventListener("click", () => turn(-1));
  byId("after").addEventListener("click", () => turn(1));
  byId("reset").addEventListener("click", () =>
    Plotly.relayout(byId("map"), { "xaxis.autorange": true, "yaxis.autorange": true }));
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  byId("map").addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" && chosen !== null) byId("panel").focus();
    else if (event.key in arrows) step(...arrows[event.key]);
    else return;
    event.preventDefault();
  });
  document.querySelectorAll(".goto").forEach((button) => {
    const at = data.rows.indexOf(Number(button.dataset.row));
    button.addEventListener("click", () => {
      select(at);
      byId("panel").focus();
    });
  });
  select(0);
  drawMap().then((box) => box.on("plotly_click", ({ points }) => {
    if (points[0].curveNumber === 0) select(points[0].pointNumber);
  }));
}

function findRow() {
  const sought = byId("row").value.trim();
  const at = data.ids.slice(0, data.n).indexOf(sought);
  if (at >= 0) return select(at);
  byId("row-note").textContent = sought ? `No row on the map is called ${shorten(sought, 40)}.` : "";
}

startMap();
dark.addEventListener("change", () => { drawGaps(); drawMap(); });
