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

  // Without the library there are words, and the tables of numbers are open.
  function say(holder) {
    if (holder.classList.contains("none")) return;
    holder.classList.add("none");
    holder.removeAttribute("role");
    holder.textContent = "Charts need the Python package dygraphs where the service runs: pip install 'graphcb[serve]'. The numbers are in the tables.";
    const numbers = holder.parentElement.querySelector("details");
    if (numbers) numbers.open = true;
  }

  // `rows` begin with a time, in seconds; `labels` name the columns, `colours` are names of CSS
  // variables, and `options` are those of dygraphs. Without rows nothing is drawn.
  function show(id, rows, labels, colours, options) {
    const holder = document.getElementById(id);
    if (typeof Dygraph === "undefined") {
      say(holder);
      return;
    }
    const old = made.get(id);
    if (!rows.length) {
      if (old) old.chart.destroy();
      made.delete(id);
      holder.replaceChildren();
      return;
    }
    const look = {
      file: inOrder(rows),
      colors: colours.map(colour),
      gridLineColor: colour("--line"),
      axisLineColor: colour("--line"),
      ...options,
    };
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
        x: { pixelsPerLabel: 80 },
        y: { axisLabelWidth: 44, pixelsPerLabel: 32 },
      },
      ...rest,
    });
    made.set(id, { chart, labels: labels.join("\n") });
  }

  // With dates, in order: a clock that went back does not fold the curve.
  function inOrder(rows) {
    let last = -Infinity;
    return rows.map(([time, ...rest]) => [new Date((last = Math.max(last, 1000 * time))), ...rest]);
  }

  function resize() {
    for (const { chart } of made.values()) chart.resize();
  }

  window.addEventListener("resize", resize);
  return { show, resize };
})();
