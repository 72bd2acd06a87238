// The panel beside the map: the nearest rows of the chosen row, and why they are near.
const VERDICTS = {
  same: ["●", "same"],
  "same range": ["◕", "same range"],
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

// Make a name in which lines may break after characters that join words, such as "_".
function breakable(text) {
  const parts = text.split(/(?<=[_.\u2423-])/);
  return make("bdi", {}, ...parts.flatMap((part, k) => (k ? [make("wbr"), part] : [part])));
}

// No line breaks inside numbers, dates and times, as in the text of the template.
const WHOLE = /(?<!\w)([-+]?\d[\d,.:+-]{0,22}(?:e[+-]?\d+)?(?: %| s\b)?)(?!\w)/;
const whole = (text) =>
  text.split(WHOLE).map((part, k) => (k % 2 ? make("span", { class: "whole", text: part }) : part));

function judge(j, a, b, agreement) {
  const { bins, cells } = data.columns[j];
  const [left, right] = [bins[a], bins[b]];
  if (left === ESTIMATED || right === ESTIMATED) return "perhaps";
  if (left === UNKNOWN || right === UNKNOWN) return "unknown";
  if (agreement > 99) return cells[a] === cells[b] ? "same" : "same range";
  return agreement ? "close" : "different";
}

// Describe a cell: its value and range or, if it is missing, its estimate and the source
// of the estimate. Two observed cells are shown with finer ranges than an observed and a
// missing cell.
function describeCell(j, row, other) {
  const column = data.columns[j];
  const bin = column.bins[row];
  const value = column.texts[column.cells[row]];
  if (bin === ESTIMATED) {
    const [nMatching, nMovers, ...rest] = estimates.get(row).get(j);
    const movers = rest.slice(0, nMovers).map((i) => data.columns[i].name);
    const shares = rest.slice(nMovers);
    const likely = [];
    for (let k = 0; k < shares.length; k += 2) {
      likely.push(`${column.names[shares[k]]} (${shares[k + 1]} %)`);
    }
    let basis = "as in the whole column";
    if (nMovers) basis = "from ";
    else if (nMatching) basis = `from ${count(nMatching, "matching row")}`;
    return [
      make("em", { text: "missing" }),
      make("span", { class: "note" },
        ...whole(`estimated: ${likely.join(", ")}, ${basis}`),
        ...movers.flatMap((name, k) => [k ? ", " : "", breakable(name)])),
    ];
  }
  if (value === undefined) {
    const note = column.kind === "empty" ? "no value is observed in this column" : "counted as a value of its own";
    return [make("em", { text: "missing" }), make("span", { class: "note", text: note })];
  }
  const cell = [make("bdi", {}, ...whole(value))];
  if (bin === UNKNOWN) cell.push(make("span", { class: "note", text: "not in the fitted table" }));
  else if (column.measured) {
    const fine = column.leaves && column.leaves[row] >= 0 && column.leaves[other] >= 0;
    const range = fine ? column.leaf_names[column.leaves[row]] : column.names[bin];
    if (range !== value) cell.push(make("span", { class: "note" }, ...whole(range)));
  }
  return cell;
}

function compare(row, nth) {
  const other = data.near[row][nth];
  const agreement = data.agreement[row][nth];
  const features = data.columns.map((_, j) => j).filter((j) => data.columns[j].kind !== "empty");
  // Columns in which the rows differ come first.
  features.sort((a, b) => agreement[a] - agreement[b] || a - b);
  const tally = {};
  const body = make("tbody", { "data-more": FEW, "data-noun": "columns" });
  for (const j of features) {
    const verdict = judge(j, row, other, agreement[j]);
    tally[verdict] = (tally[verdict] || 0) + 1;
    const [mark, word] = VERDICTS[verdict];
    const label = verdict === "perhaps" ? `${word}, ${agreement[j]} %` : word;
    body.append(
      make("tr", { class: `is-${verdict.replace(" ", "-")}` },
        make("th", { scope: "row" },
          breakable(data.columns[j].name),
          make("span", { class: "verdict" }, make("span", { "aria-hidden": "true", text: mark + " " }), label)),
        make("td", {}, ...describeCell(j, row, other)),
        make("td", {}, ...describeCell(j, other, row))),
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
  if (data.clusters) title.append(make("span", { class: "note", text: ` in ${data.kind} ${data.clusters[row]}: ${data.names[data.clusters[row]]}` }));
  const near = row < data.n ? data.near[row] : [];
  let lead = "There is no other row.";
  if (row >= data.n) lead = `The page has the most similar rows of ${count(data.n)} rows on the map, but not of this row.`;
  else if (near.length) lead = `The ${near.length === 1 ? "row" : near.length + " rows"} most similar to this row. A similarity of 1 means the same label or narrow range in every column, 0 a different label or range in every column. It is the share of what an equal row would score, and differs a little in the other direction. Choose a row to see why.`;
  byId("panel-lead").textContent = lead;
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

// The map: rows as points on a canvas. One row is selected, or one cluster, or nothing.
// Color scales from dark to light; neither end has the color of the background.
const SCALES = {
  light: ["#00224e", "#35456c", "#666970", "#948e77", "#c3ad55", "#e8c72f"],
  dark: ["#4565a8", "#6f7fa6", "#92938f", "#b5aa74", "#dac75d", "#fff2a6"],
};
const GRADES = 36;
const MARKS = 8;
const REACH = 9; // pixels from a point within which a click chooses the point
const MARGIN = 16;
const LEAST_TALL = 200; // pixels
const BADGE = 11; // radius of the number of a cluster
const canvas = byId("map");
const pen = canvas.getContext("2d");
const nPoints = data.rows.length;
let chosen = null;
let picked = null; // a cluster
let view = { x: 0, y: 0, zoom: 1 }; // the point of the plane in the middle, magnification
let painted = null;

const bounds = [0, 1].map((d) => {
  const values = data.places.map((place) => place[d]);
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
});

function mix(t) {
  const ramp = SCALES[dark.matches ? "dark" : "light"];
  const x = t * (ramp.length - 1);
  const k = Math.min(ramp.length - 2, Math.floor(x));
  const part = (shade, from) => parseInt(shade.slice(from, from + 2), 16);
  const rgb = [1, 3, 5].map((from) =>
    Math.round(part(ramp[k], from) + (x - k) * (part(ramp[k + 1], from) - part(ramp[k], from))));
  return `rgb(${rgb.join(",")})`;
}

// Choose the color of each point by its grade: a label here, a number in paintNumbers.
// The legend counts all rows: `sizes` gives the counts, or else the points are counted,
// unless the map shows only a sample.
function paintLabels(grades, labels, sizes, own = labels.map((_, k) => color(`--mark-${k % MARKS}`))) {
  const counts = new Array(labels.length + 2).fill(0);
  const kinds = grades.map((grade) => (grade < 0 ? labels.length + 1 : Math.min(grade, labels.length)));
  kinds.forEach((kind) => (counts[kind] += 1));
  const number = (k) => {
    if (sizes && k < sizes.length) return ` (${count(sizes[k])})`;
    return data.sampled ? "" : ` (${count(counts[k])})`;
  };
  const shades = [...own, color("--other"), color("--ink-soft")];
  const texts = [...labels, "others", "missing"];
  const legend = texts.map((text, k) => [shades[k], text + number(k), k > labels.length])
    .filter((_, k) => counts[k]);
  return { shades: kinds.map((kind) => shades[kind]), hollow: kinds.map((kind) => kind > labels.length), legend };
}

function paintNumbers(grades, most, ends) {
  const ramp = Array.from({ length: most + 1 }, (_, k) => mix(k / (most || 1)));
  const missing = grades.filter((grade) => grade < 0).length;
  const legend = missing ? [[color("--ink-soft"), data.sampled ? "missing" : `missing (${count(missing)})`, true]] : [];
  return {
    shades: grades.map((grade) => (grade < 0 ? color("--ink-soft") : ramp[Math.min(grade, most)])),
    hollow: grades.map((grade) => grade < 0), legend, ends,
  };
}

const readGrades = (text) => [...text].map((one) => (one === "-" ? -1 : parseInt(one, 36)));

function paint() {
  const by = byId("color-by").value;
  if (by === "clusters") painted = paintLabels(data.clusters, data.names.map((name, k) => `${k}: ${shorten(name, 120)}`), data.sizes);
  else if (by === "missing") {
    const missing = new Array(nPoints).fill(0);
    data.columns.forEach(({ grades }) => {
      for (let i = 0; i < nPoints; i += 1) missing[i] += grades[i] === "-";
    });
    const most = missing.reduce((a, b) => Math.max(a, b), 0);
    painted = paintNumbers(missing, most, most ? ["0", String(most)] : ["0", "0"]);
  } else {
    const column = data.columns[Number(by)];
    const grades = readGrades(column.grades);
    const ramp = column.legend.map((_, k) => mix(k / (column.legend.length - 1 || 1)));
    if (column.steps) painted = paintLabels(grades, column.legend, null, ramp);
    else if (column.measured) painted = paintNumbers(grades, GRADES - 1, column.legend);
    else painted = paintLabels(grades, column.legend);
  }
  writeLegend();
  drawMap();
}

function writeLegend() {
  const { legend, ends } = painted;
  const items = legend.map(([shade, text, hollow]) => {
    const glyph = make("span", { "aria-hidden": "true", class: "glyph", text: hollow ? "○" : "●" });
    glyph.style.color = shade;
    return make("li", {}, glyph, make("bdi", { text }));
  });
  if (ends) {
    const ramp = make("span", { class: "ramp", "aria-hidden": "true" });
    ramp.style.background = `linear-gradient(90deg, ${SCALES[dark.matches ? "dark" : "light"].join(",")})`;
    items.unshift(make("li", {}, make("span", { text: ends[0] }), ramp, make("span", { text: ends[1] })));
  }
  byId("legend").replaceChildren(...items);
}

// Pixels per unit of the plane: the same in both directions, so that distances are true.
function scaleOf() {
  const fit = [canvas.clientWidth, canvas.clientHeight].map((size, d) =>
    (size - 2 * MARGIN) / (bounds[d][1] - bounds[d][0] || 1));
  return Math.min(...fit) * view.zoom;
}

function spot(i) {
  const scale = scaleOf();
  const [x, y] = data.places[i];
  return [canvas.clientWidth / 2 + (x - view.x) * scale, canvas.clientHeight / 2 - (y - view.y) * scale];
}

// The frame is no taller than the points need where they fill the width.
function fitFrame() {
  const [wide, tall] = bounds.map(([low, high]) => high - low);
  const most = wide ? (tall / wide) * (canvas.clientWidth - 2 * MARGIN) + 2 * MARGIN : Infinity;
  canvas.parentElement.style.maxHeight = `${Math.max(most, LEAST_TALL)}px`;
}

function drawMap() {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const radius = nPoints > 10000 ? 1.8 : nPoints > 2000 ? 2.6 : 4;
  const scale = scaleOf();
  const groups = new Map();
  for (let i = nPoints - 1; i >= 0; i -= 1) {
    const faint = picked !== null && data.clusters[i] !== picked;
    const key = `${painted.shades[i]}|${painted.hollow[i]}|${faint}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(i);
  }
  // The points of the picked cluster are drawn last, on top.
  const keys = [...groups.keys()].sort((a, b) => b.endsWith("true") - a.endsWith("true"));
  for (const key of keys) {
    const [shade, hollow, faint] = key.split("|");
    pen.globalAlpha = faint === "true" ? 0.12 : 0.8;
    pen.beginPath();
    for (const i of groups.get(key)) {
      const x = width / 2 + (data.places[i][0] - view.x) * scale;
      const y = height / 2 - (data.places[i][1] - view.y) * scale;
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
      pen.moveTo(x + radius, y);
      pen.arc(x, y, radius, 0, 2 * Math.PI);
    }
    if (hollow === "true") {
      pen.strokeStyle = shade;
      pen.stroke();
    } else {
      pen.fillStyle = shade;
      pen.fill();
    }
  }
  pen.globalAlpha = 1;
  if (byId("color-by").value === "clusters") numberClusters(width);
  if (chosen !== null) {
    if (chosen < data.n) data.near[chosen].forEach((i) => drawCircle(spot(i), 7, 1.5, "--ink"));
    drawCircle(spot(chosen), 9, 3.5, "--accent");
  }
}

function drawCircle([x, y], radius, width, shade, inside) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = inside ? color(inside) : "transparent";
  pen.fill();
  pen.lineWidth = width;
  pen.strokeStyle = color(shade);
  pen.stroke();
  pen.lineWidth = 1;
}

// The point of each cluster with the most points of its own around it, less the points
// of other clusters; of many points, some are looked at.
const some = (points, most) => points.filter((_, k) => k % Math.ceil(points.length / most) === 0);
function findMiddles() {
  const reach = 0.06 * Math.max(...bounds.map(([low, high]) => high - low));
  const every = some(data.places.map((_, i) => i), 2000);
  return data.names.map((_, c) => {
    let best = null;
    let most = -Infinity;
    const own = data.clusters.flatMap((label, i) => (label === c ? [i] : []));
    for (const i of some(own, 100)) {
      const [x, y] = data.places[i];
      const near = every.filter((k) => Math.hypot(data.places[k][0] - x, data.places[k][1] - y) <= reach);
      const inside = near.reduce((sum, k) => sum + (data.clusters[k] === c ? 1 : -1), 0);
      if (inside > most) [best, most] = [i, inside];
    }
    return best;
  });
}
const middles = data.clusters ? findMiddles() : [];

// Draw the number of each cluster in the middle of its points.
function numberClusters(width) {
  pen.font = "600 12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const taken = [];
  data.names.forEach((_, c) => {
    if (middles[c] === null || (picked !== null && picked !== c)) return;
    const middle = spot(middles[c]);
    const x = Math.min(Math.max(middle[0], BADGE), width - BADGE);
    let y = middle[1];
    while (taken.some(([u, v]) => Math.hypot(u - x, v - y) < 2 * BADGE)) y += 2 * BADGE;
    taken.push([x, y]);
    drawCircle([x, y], BADGE, 2.5, `--mark-${c % MARKS}`, "--paper");
    pen.fillStyle = color("--ink");
    pen.fillText(String(c), x, y);
  });
}

function findPoint(event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const scale = scaleOf();
  const u = view.x + (x - canvas.clientWidth / 2) / scale;
  const v = view.y - (y - canvas.clientHeight / 2) / scale;
  let best = null;
  let least = REACH / scale;
  for (let i = 0; i < nPoints; i += 1) {
    const far = Math.hypot(data.places[i][0] - u, data.places[i][1] - v);
    if (far < least) [best, least] = [i, far];
  }
  return best;
}

// The lines of the tip beside a row: its name, its cluster, and its rarest values.
function describeRow(i) {
  const lines = [`Row ${shorten(data.ids[i], 40)}`];
  if (data.clusters) lines.push(`${data.kind === "part" ? "Part" : "Cluster"} ${data.clusters[i]}: ${shorten(data.names[data.clusters[i]], 50)}`);
  const by = byId("color-by").value;
  const told = i < data.n_cells ? tellingColumns(i) : [];
  if (by in data.columns && !told.includes(Number(by))) told.unshift(Number(by));
  for (const j of told) {
    const column = data.columns[j];
    const value = i < data.n_cells ? column.texts[column.cells[i]] || "missing" : readLegend(column, i);
    lines.push(`${shorten(column.name, 30)}: ${shorten(value, 40)}`);
  }
  return lines;
}

function readLegend(column, i) {
  const grade = column.grades[i] === "-" ? -1 : parseInt(column.grades[i], 36);
  if (grade < 0) return "missing";
  if (!column.measured || column.steps) return column.legend[grade] || "another value";
  return `${Math.round((100 * grade) / (GRADES - 1))} % of the way from ${column.legend[0]} to ${column.legend[1]}`;
}

// Counts of each grade of each column among the rows on the map.
const rarity = data.columns.map(({ grades }) => {
  const counts = {};
  for (const one of grades) counts[one] = (counts[one] || 0) + 1;
  return counts;
});
// The three columns in which the grade of row i is rarest.
const tellingColumns = (i) => data.columns.map((column, j) => [rarity[j][column.grades[i]], j])
  .filter(([, j]) => data.columns[j].kind !== "empty")
  .sort((a, b) => a[0] - b[0]).slice(0, 3).map(([, j]) => j);

function showTip(event) {
  const i = event ? findPoint(event) : null;
  const tip = byId("tip");
  canvas.style.cursor = i === null ? "default" : "pointer";
  tip.hidden = i === null;
  if (i === null) return;
  tip.replaceChildren(...describeRow(i).map((text) => make("span", {}, make("bdi", { text }))));
  const [x, y] = spot(i);
  tip.style.left = `${Math.min(x + 12, Math.max(0, canvas.clientWidth - tip.offsetWidth - 4))}px`;
  // Above the point where there is no room below, so that it does not hide the legend.
  const below = y + 14 + tip.offsetHeight <= canvas.clientHeight;
  tip.style.top = `${below ? y + 14 : Math.max(0, y - tip.offsetHeight - 10)}px`;
}

function select(i) {
  chosen = i;
  byId("row").value = data.ids[i];
  const [x, y] = data.places[i];
  const here = data.places.filter((place) => place[0] === x && place[1] === y).length;
  byId("row-note").textContent = here > 1 ? `${count(here)} rows share this point.` : "";
  if (data.clusters) pick(data.clusters[i], true);
  drawMap();
  showNear(i);
  if (byId("panel").getBoundingClientRect().top < 0 && wide.matches) showPanel();
}

// Scroll to the panel, which is beside the map or below it.
function showPanel() {
  byId("panel").focus({ preventScroll: true });
  byId("panel").scrollIntoView({ block: "start" });
}

// A cluster is picked by its card; choosing a row only marks the card of its cluster.
function pick(cluster, mark) {
  picked = mark || picked === cluster ? null : cluster;
  document.querySelectorAll(".clusters .card").forEach((card) => {
    const own = Number(card.dataset.cluster) === cluster;
    card.classList.toggle("current", own && (mark || picked !== null));
    card.querySelector(".pick").setAttribute("aria-pressed", String(own && !mark && picked !== null));
  });
}

// Choose the nearest row in a direction; distance to the side counts double.
function step(dx, dy) {
  if (chosen === null) return select(0);
  const [x, y] = data.places[chosen];
  let best = null;
  let least = Infinity;
  data.places.slice(0, data.n).forEach(([u, v], i) => {
    const along = (u - x) * dx + (v - y) * dy;
    const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
    const far = along + 2 * aside;
    if (along > 1e-9 && far < least) [best, least] = [i, far];
  });
  if (best !== null) select(best);
}

function zoom(by) {
  view.zoom = Math.min(64, Math.max(1, view.zoom * by));
  if (view.zoom === 1) resetView();
  else if (chosen !== null) [view.x, view.y] = data.places[chosen];
  drawMap();
}

function resetView() {
  view = { x: (bounds[0][0] + bounds[0][1]) / 2, y: (bounds[1][0] + bounds[1][1]) / 2, zoom: 1 };
}

function findRow() {
  const sought = byId("row").value.trim();
  const at = data.ids.indexOf(sought);
  if (at >= 0) return select(at);
  // An id that several rows have is followed by the number of the row.
  const same = data.ids.flatMap((id, i) => (id.startsWith(`${sought} (#`) ? [i] : []));
  if (sought && same.length) {
    select(same[0]);
    byId("row-note").textContent = `${count(same.length, "row")} on the map have this id: ${shorten(same.map((i) => data.ids[i]).join(", "), 200)}.`;
    return;
  }
  byId("row-note").textContent = sought ? `No row on the map is called ${shorten(sought, 40)}.` : "";
}

function followPointer() {
  let held = null;
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY];
    moved = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null || view.zoom === 1) return showTip(event);
    const scale = scaleOf();
    moved = moved || Math.hypot(event.clientX - held[0], event.clientY - held[1]) > 3;
    view.x -= (event.clientX - held[0]) / scale;
    view.y += (event.clientY - held[1]) / scale;
    held = [event.clientX, event.clientY];
    showTip(null);
    drawMap();
  });
  canvas.addEventListener("pointerleave", () => showTip(null));
  window.addEventListener("pointerup", () => (held = null));
  canvas.addEventListener("click", (event) => {
    const i = moved ? null : findPoint(event);
    if (i !== null) select(i);
  });
  canvas.addEventListener("dblclick", (event) => {
    const i = findPoint(event);
    if (i !== null) [view.x, view.y] = data.places[i];
    zoom(2);
  });
}

function startMap() {
  const options = [];
  if (data.clusters) options.push(["clusters", data.kind]);
  options.push(["missing", "number of missing cells"]);
  data.columns.forEach((column, j) => column.kind !== "empty" && options.push([String(j), shorten(column.name, 60)]));
  byId("color-by").append(...options.map(([value, text]) => make("option", { value, text })));
  byId("color-by").selectedIndex = data.clusters ? 0 : Math.min(1, options.length - 1);
  const longest = data.ids.reduce((most, id) => Math.max(most, id.length), 0);
  byId("row").style.width = `calc(${Math.min(Math.max(longest, 5), 24)}ch + 3.5rem)`;
  byId("row-list").append(...data.ids.slice(0, data.n).map((value) => make("option", { value })));
  byId("color-by").addEventListener("change", paint);
  byId("row").addEventListener("change", findRow);
  const turn = (by) => select(chosen === null ? 0 : (chosen + by + data.n) % data.n);
  byId("before").addEventListener("click", () => turn(-1));
  byId("after").addEventListener("click", () => turn(1));
  byId("nearer").addEventListener("click", () => zoom(2));
  byId("farther").addEventListener("click", () => zoom(0.5));
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" && chosen !== null) showPanel();
    else if (event.key === "+") zoom(2);
    else if (event.key === "-") zoom(0.5);
    else if (event.key in arrows) step(...arrows[event.key]);
    else return;
    event.preventDefault();
  });
  document.querySelectorAll(".goto").forEach((button) => {
    const at = data.rows.indexOf(Number(button.dataset.row));
    button.addEventListener("click", () => {
      select(at);
      showPanel();
    });
  });
  document.querySelectorAll(".pick").forEach((button) => button.addEventListener("click", () => {
    pick(Number(button.closest(".card").dataset.cluster), false);
    byId("color-by").value = "clusters";
    paint();
  }));
  followPointer();
  resetView();
  fitFrame();
  new ResizeObserver(() => {
    fitFrame();
    if (painted) drawMap();
  }).observe(canvas);
  paint();
  if (!data.clusters) select(0);
}

startMap();
dark.addEventListener("change", paint);
