// The picture of the gaps: a row of the picture is a row of the table.
function drawGaps() {
  const box = byId("gaps");
  if (!box) return;
  const { columns, cells, names } = data.gaps;
  const titles = columns.map((j) => data.columns[j].name);
  const z = cells.map((row) => [...row].map(Number));
  const text = z.map((row, i) =>
    row.map((gap, j) => `${plain(shorten(titles[j], 40))}<br>row ${plain(shorten(names[i], 40))}: ${gap ? "missing" : "known"}`),
  );
  const step = Math.ceil(titles.length / Math.max(4, Math.floor(box.clientWidth / 22)));
  const ticks = titles.map((_, j) => j).filter((j) => j % step === 0);
  const trace = {
    type: "heatmap", z, text, hovertemplate: "%{text}<extra></extra>",
    zmin: 0, zmax: 1, showscale: false,
    xgap: titles.length < 40 ? 2 : 0,
    colorscale: [[0, color("--known")], [1, color("--gap")]],
  };
  const axis = { showgrid: false, zeroline: false, fixedrange: true, ticks: "" };
  const layout = {
    paper_bgcolor: "transparent", plot_bgcolor: "transparent",
    font: { family: "inherit", color: color("--ink-soft"), size: 12 },
    margin: { l: 44, r: 8, t: 4, b: 8 },
    dragmode: false,
    xaxis: {
      ...axis, automargin: true, tickangle: -45, tickvals: ticks,
      ticktext: ticks.map((j) => plain(shorten(titles[j], 18))),
    },
    yaxis: { ...axis, autorange: "reversed", showticklabels: false },
    hoverlabel: { font: { family: "inherit" } },
  };
  Plotly.react(box, [trace], layout, plotOptions);
}

drawGaps();
