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
