"use strict";
// Charts by dygraphs, in the colours of the page; each is made once and then given new rows.

const Charts = (() => {
  const made = new Map();
  if (typeof Dygraph !== "undefined") {
    // The page has legends of its own, and that of the library writes inline styles.
    Dygraph.PLUGINS = [Dygraph.Plugins.Axes, Dygraph.Plugins.Grid];
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function short(x) {
    if (Math.abs(x) >= 1e6) return (x / 1e6).toPrecision(3) + " M";
    if (Math.abs(x) >= 1e4) return Math.round(x / 1e3) + " k";
    return String(Math.round(x));
  }

  // Without the library there are words, and the tables of numbers are open.
  function say(holder) {
    if (holder.classList.contains("none")) return;
    holder.classList.add("none");
    holder.removeAttribute("role");
    holder.textContent = "Charts need the Python package dygraphs where the service runs: pip install 'graphcb[serve]'. The numbers are in the tables.";
    const numbers = holder.parentElement.querySelector("details");
    if (numbers) numbers.open = true;
  }

  // `rows` begin with the number of decisions; `labels` name the columns, `colours` are names
  // of CSS variables, and `options` are those of dygraphs.
  function show(id, rows, labels, colours, options) {
    const holder = document.getElementById(id);
    if (typeof Dygraph === "undefined") {
      say(holder);
      return;
    }
    if (!rows.length) return;
    const look = {
      file: rows,
      colors: colours.map(colour),
      gridLineColor: colour("--line"),
      axisLineColor: colour("--line"),
      ...options,
    };
    const old = made.get(id);
    if (old && old.labels === labels.join("\n")) {
      old.chart.updateOptions(look);
      return;
    }
    if (old) old.chart.destroy();
    const { file, ...rest } = look;
    const chart = new Dygraph(holder, file, {
      labels,
      showLabelsOnHighlight: false,
      highlightCircleSize: 0,
      interactionModel: {},
      strokeWidth: 2,
      axisLabelFontSize: 12,
      axes: {
        x: { axisLabelFormatter: short, pixelsPerLabel: 70 },
        y: { axisLabelWidth: 44, pixelsPerLabel: 32 },
      },
      ...rest,
    });
    made.set(id, { chart, labels: labels.join("\n") });
  }

  function resize() {
    for (const { chart } of made.values()) chart.resize();
  }

  window.addEventListener("resize", resize);
  return { show, resize };
})();
