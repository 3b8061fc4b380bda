"use strict";
// Asks /v1/live every second and puts the answer into the page.

const EVERY = 1000; // milliseconds
const PATIENCE = 10000; // with a service that is frozen, or behind a network that drops packets
// Where the paths begin: at /v1, or at /v1/problems/NAME if the service has several problems.
const BASE = location.pathname.replace(/\/$/, "") || "/v1";
const SILENT = "the service does not answer";
const PATHS = {
  "/v1/decisions": "decisions",
  "/v1/decisions/{id}/feedback": "feedback",
  "/personalizer/v1.0/rank": "rank",
};
const at = (id) => document.getElementById(id);
let key = sessionStorage.getItem("graphcb-key") || "";
const looks = [];
let tables = 0; // when the long tables were last filled

function number(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (x !== 0 && Math.abs(x) < 1e-3) return x.toExponential(1);
  return String(Number(x.toPrecision(digits)));
}
const fixed = (x) => (x === null || x === undefined ? "–" : x.toFixed(scale));
let scale = 3; // digits after the point, by the width of the interval's range
const percent = (x) => (100 * x).toFixed(1) + "\u00a0%";
const whole = (x) => x.toLocaleString("en");
const signed = (x) => (x === null ? "–" : (x > 0 ? "+" : x < 0 ? "−" : "") + fixed(Math.abs(x)));
const when = (x) => new Date(1000 * x).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
const between = (v, show = fixed) => `${show(v.lower)}\u00a0to\u00a0${show(v.upper)}`; // on one line

function seconds(x) {
  if (x === null || x === undefined) return "–";
  if (x < 1) return Math.round(1000 * x) + " ms";
  if (x < 120) return number(x, 2) + " s";
  if (x < 7200) return Math.round(x / 60) + " min";
  return x < 172800 ? Math.round(x / 3600) + " h" : Math.round(x / 86400) + " days";
}

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

// A table with a caption; the first cell of a row heads it. A cell is a text, or [text, class].
function fill(id, caption, heads, rows) {
  const table = at(id);
  const head = element("thead");
  const top = element("tr");
  for (const one of heads) {
    const [text, kind] = Array.isArray(one) ? one : [one, ""];
    const cell = element("th", text, kind);
    cell.scope = "col";
    top.append(cell);
  }
  head.append(top);
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((one, place) => {
      const [text, kind] = Array.isArray(one) ? one : [one, ""];
      const cell = element(place ? "td" : "th", text, kind);
      if (!place) cell.scope = "row";
      line.append(cell);
    });
    body.append(line);
  }
  table.replaceChildren(element("caption", caption), head, body);
}

function pairs(id, list) {
  at(id).replaceChildren(...list.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
}

function legend(id, list) {
  at(id).replaceChildren(
    ...list.map(([name, colour, dash]) => {
      const one = element("span");
      const mark = element("i", undefined, dash ? "dash" : "");
      mark.style.backgroundColor = `var(${colour})`;
      one.append(mark, name);
      return one;
    })
  );
}

function showGain(id, title, gain, missing) {
  at(id + "-title").textContent = title;
  at(id).className = "big";
  if (missing) {
    at(id).textContent = "–";
    at(id + "-interval").textContent = "not estimated";
    return;
  }
  if (!gain) {
    at(id).textContent = "–";
    at(id + "-interval").textContent =
      id === "baseline" ? "the problem has no baseline" : "no action has an estimate yet";
    return;
  }
  const sure = gain.lower > 0 ? "better" : gain.upper < 0 ? "worse" : "";
  at(id).textContent = gain.mean === null ? "not known" : signed(gain.mean);
  at(id).className = "big " + (sure === "better" ? "good" : sure === "worse" ? "bad" : "");
  const verdict = sure ? `proven ${sure}` : "not proven yet";
  at(id + "-interval").textContent = `${between(gain, signed)}: ${verdict}`;
}

// What all numbers below are about.
function showScope(live) {
  const now = counted(live), missing = live.estimates.missing;
  at("since").hidden = live.versions.n < 2 || !now;
  if (now) {
    const note = now.note ? ` (${now.note})` : "";
    const part = now.is_whole ? "" : `, counted from event ${whole(live.log.first_event)} on`;
    const begins = now === live.versions.last[0] ? "Since version" : "Still reading the log: version";
    at("since").textContent = `${begins} ${now.number}, ${when(now.since)}${note}${part}`;
  }
  at("notice").hidden = !missing;
  if (at("notice").textContent !== missing) at("notice").textContent = missing;
}

const counted = (live) => live.versions.last.find((one) => one.number === live.versions.counted);

function showTiles(live) {
  at("policy-title").textContent = `Mean ${live.unit}`;
  const { missing, policy, gain_on_baseline: rule, gain_on_best: best } = live.estimates;
  at("policy").textContent = missing ? "–" : policy.mean === null ? "not known" : fixed(policy.mean);
  at("policy-interval").textContent = missing
    ? "not estimated"
    : between(policy) + (policy.unseen > 0 ? `; ${percent(policy.unseen)} could not be revealed` : "");
  const h = live.hour;
  at("policy-hour").textContent =
    missing || !h.n_settled ? "" : `last hour: ${h.mean === null ? "not known" : fixed(h.mean)}, of ${whole(h.n_settled)} settled`;
  at("decisions-hour").textContent = `last hour: ${whole(h.n_decisions)}`;
  showGain("baseline", rule ? `Gain on the baseline, ${rule.name}` : "Gain on the baseline", rule, missing);
  showGain("best", best ? `Gain on the best action, ${best.name}` : "Gain on the best action", best, missing);
  at("decisions").textContent = whole(live.log.n_decisions);
  const settled = missing ? "" : `${whole(live.log.n_settled)} settled; `;
  at("decisions-more").textContent = `${rate(live)}${settled}model version ${whole(live.log.model_version)}`;
}

// Decisions per second over the last few looks.
function rate(live) {
  const made = live.log.n_events - live.log.model_version; // all decisions of the log
  looks.push([live.now, made]);
  if (looks.length > 6) looks.shift();
  const [then, before] = looks[0];
  const passed = live.now - then;
  return passed > 1 ? `${number((made - before) / passed, 2)} per second; ` : "";
}

function showCurve(live) {
  const { curve: c, baseline, best, missing } = live.estimates;
  const hidden = at("curve-card").hidden;
  at("curve-card").hidden = !!missing;
  if (hidden && !missing) Charts.resize();
  at("curve-title").textContent = `Mean ${live.unit} since the version began, over time`;
  const rows = c.times.map((time, i) => [
    time,
    c.mean[i] === null ? [c.lower[i], null, c.upper[i]] : [c.lower[i], c.mean[i], c.upper[i]],
    [c.baseline[i], c.baseline[i], c.baseline[i]],
    [c.best[i], c.best[i], c.best[i]],
  ]);
  const same = baseline && best && baseline.name === best.name;
  const keys = [["this policy, with its interval", "--policy"]];
  if (baseline) keys.push([(same ? "baseline and best action: " : "baseline: ") + baseline.name, "--baseline", true]);
  if (best && !same) keys.push(["best action: " + best.name, "--best", true]);
  legend("curve-keys", keys);
  Charts.show("curve", rows, ["time", "policy", "baseline", "best"], ["--policy", "--baseline", "--best"], {
    customBars: true,
    fillAlpha: 0.18,
    valueRange: range(c),
    visibility: [true, !!baseline, !!best && !same],
    series: { baseline: { strokePattern: [6, 4] }, best: { strokePattern: [2, 3] } },
  });
  const n = c.decisions.length;
  at("curve-text").textContent = n
    ? `After ${whole(c.decisions[n - 1])} settled decisions: ${fixed(c.mean[n - 1])} (${fixed(c.lower[n - 1])} to ${fixed(c.upper[n - 1])}).`
    : "The curve begins once ten decisions are settled.";
}

// The interval is wide at first: what is drawn is where it is later, and all the lines.
function range(c) {
  const from = Math.min(c.decisions.length - 1, Math.floor(c.decisions.length / 5));
  const seen = [c.mean, c.baseline, c.best].flat().concat(c.lower.slice(from), c.upper.slice(from));
  const known = seen.filter((x) => x !== null && x !== undefined);
  if (!known.length) return null;
  const low = Math.min(...known), high = Math.max(...known), room = 0.05 * (high - low || 1);
  return [low - room, high + room];
}

function showActions(live) {
  const names = Object.keys(live.windows.shares);
  const colours = names.map((name) => `--a${live.windows.colours[name]}`);
  legend("shares-keys", names.map((name, i) => [name, colours[i]]));
  // dygraphs stacks the first series on top
  const rows = live.windows.times.map((time, i) => [time, ...names.map((name) => live.windows.shares[name][i])]);
  Charts.show("shares", rows, ["time", ...names], colours, {
    stackedGraph: true,
    fillAlpha: 0.55,
    strokeWidth: 1,
    valueRange: [0, 1.001],
  });
  fill(
    "actions",
    `How often each action was played, and the mean ${live.unit} of always playing it`,
    ["action", "share", "last hour", `mean ${live.unit}`],
    live.actions.map((a) => [
      a.name,
      percent(a.share),
      a.hour === null ? "–" : percent(a.hour),
      [a.value ? `${a.value.mean === null ? "not seen" : fixed(a.value.mean)} (${between(a.value)})` : "–", "wraps"],
    ])
  );
}

function showExploration(live) {
  const e = live.exploration, missing = live.estimates.missing;
  pairs("exploration", [
    ["in the last hour", e.hour === null ? "–" : percent(e.hour)],
    ["over all decisions", percent(e.share)],
    ...cost(e.cost, missing, live.unit),
  ]);
  const rows = live.windows.times.map((time, i) => [time, live.windows.explored[i]]);
  const most = Math.max(0.05, ...live.windows.explored);
  Charts.show("explored", rows, ["time", "explored"], ["--policy"], { fillGraph: true, valueRange: [0, 1.1 * most] });
}

// What exploring costs per decision; where it is below 0, what it gains.
function cost(c, missing, unit) {
  if (missing) return [["cost per decision", "not estimated"]];
  if (c.mean === null) return [["cost per decision", `not known; ${between(c, signed)}`]];
  const gains = c.mean < 0;
  const low = gains ? -c.upper : c.lower, high = gains ? -c.lower : c.upper;
  const what = gains ? "gain" : "cost";
  return [
    [`${what} per decision`, `${fixed(Math.abs(c.mean))} ${unit}`],
    [`interval of the ${what}`, `${between({ lower: low, upper: high }, signed)}${low <= 0 ? ": may be none" : ""}`],
  ];
}

function showLongTables(live) {
  const c = live.estimates.curve;
  const every = Math.max(1, Math.ceil(c.decisions.length / 24));
  const some = c.decisions.map((_, i) => i).filter((i) => (c.decisions.length - 1 - i) % every === 0).reverse();
  fill(
    "curve-table",
    `Mean ${live.unit}, newest first`,
    ["settled decisions", "until", "policy", "lower end", "upper end", "baseline", "best action"],
    some.map((i) => [whole(c.decisions[i]), when(c.times[i]), ...[c.mean, c.lower, c.upper, c.baseline, c.best].map((x) => fixed(x[i]))])
  );
  const w = live.windows;
  fill(
    "explored-table",
    "Exploration and shares, newest first",
    ["up to decision", "until", "explored", ...Object.keys(w.shares)],
    w.decisions.map((n, i) => [whole(n), when(w.times[i]), percent(w.explored[i]), ...Object.values(w.shares).map((x) => percent(x[i]))]).reverse().slice(0, 24)
  );
}

function showRules(live) {
  const lines = live.rules.map((r) => {
    const line = element("li");
    const held = r.held === null ? element("b", "not known", "soft") : element("b", r.held ? "held" : "not held", r.held ? "good" : "bad");
    // defaults promise nothing that could be broken
    line.append(element("b", r.name), ...(r.stands ? [held] : []), element("div", r.says), element("div", r.stands, "small"));
    if (r.name === "baseline" && live.match_rate !== null)
      line.append(element("div", `the learner would have played the same in ${percent(live.match_rate)}`, "small"));
    return line;
  });
  at("rules").replaceChildren(...(lines.length ? lines : [element("li", "The problem has none.", "small")]));
}

function showAlarms(live) {
  const lines = live.alarms.map((a) => {
    const line = element("li");
    const when = a.since_time === null ? "" : `since ${new Date(1000 * a.since_time).toLocaleString()}; `;
    line.append(
      element("b", a.name),
      element("b", a.over === null ? "different" : "as before", a.over === null ? "bad" : "good"),
      element("div", a.text),
      element("div", `${when}in a world that stands still with a chance of at most ${number(a.chance, 1)}`, "small")
    );
    return line;
  });
  at("alarms").replaceChildren(...(lines.length ? lines : [element("li", "Nothing so far.", "small")]));
}

function showFeedback(live) {
  const f = live.feedback;
  const share = f.expected ? f.answered / f.expected : 0;
  pairs("feedback", [
    ["decisions that reveal something", whole(f.expected)],
    ["of these, with feedback", f.expected ? `${whole(f.answered)} (${percent(share)})` : "–"],
    ...(f.by_default === null ? [] : [["by default after waiting", whole(f.by_default)]]),
    ...(f.replaced ? [["arrived after the default, in its place", whole(f.replaced)]] : []),
    ["not complete yet", whole(f.waiting)],
    ["delay, half of them within", seconds(f.delay_p50)],
    ["delay, nine in ten within", seconds(f.delay_p90)],
  ]);
  at("feedback-meter").setAttribute("aria-label", `${percent(share)} have feedback`);
  at("feedback-meter").firstElementChild.style.width = `${100 * share}%`;
}

function showGraph(live) {
  const g = live.graph;
  if (!g) {
    fill("graph", "The graph comes with each round, or has too many actions to draw.", [], []);
    return;
  }
  fill(
    "graph",
    g.matrix.flat().includes(null) ? "Playing a row reveals the columns; how often “may” does is learned" : "Playing a row reveals the columns",
    ["played", ...g.actions],
    g.matrix.map((row, i) => [
      g.actions[i],
      ...row.map((p) => [p === null ? "may" : p === 1 ? "yes" : p === 0 ? "no" : number(p, 2), p === null ? "may" : p > 0 ? "yes" : "no"]),
    ])
  );
}

function showVersions(live) {
  const { n, last } = live.versions;
  fill(
    "versions",
    "Results are from the events that this page has read" + (n > last.length ? `; ${whole(n - last.length)} earlier versions are left out` : ""),
    ["version", ["since", "text"], "decisions", `mean ${live.unit}`],
    last.map((v) => {
      const now = v === last[0];
      const count = v.n_decisions === null ? "–" : whole(v.n_decisions) + (v.is_whole ? "" : " seen");
      return [
        [v.number + (now ? " now" : ""), now ? "now" : ""],
        [when(v.since) + (v.note ? `: ${v.note}` : ""), "text"],
        [count, "wraps"],
        [result(v, live), "wraps"],
      ];
    })
  );
}

// Each version has its own digits: a wide interval does not need those of a narrow one.
function result(v, live) {
  if (v.n_decisions === null) return "not seen";
  if (!v.value) return "not estimated";
  if (v.value.mean === null) return "not known";
  const shown = digits(v.value);
  const unit = v.unit === live.unit ? "" : ` ${v.unit}`;
  return `${v.value.mean.toFixed(shown)}${unit} (${between(v.value, (x) => x.toFixed(shown))})`;
}

const digits = (v) => Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v.upper - v.lower) || 1))));

function showService(live) {
  const s = live.service;
  fill(
    "requests",
    "Since the start: 4xx were refused, 5xx failed",
    ["path", "requests", "4xx", "5xx", "p50", "p99"],
    s.requests.map((r) => [
      PATHS[r.path] || r.path, whole(r.requests), whole(r.refused), [whole(r.failed), r.failed ? "bad" : ""], seconds(r.p50), r.p99 === null ? "over 5 s" : seconds(r.p99),
    ])
  );
  pairs("service", [
    ["running for", seconds(s.uptime)],
    ["waiting now", whole(s.waiting)],
    ["requests per commit", number(s.jobs_per_commit, 2)],
    ["events in the log", whole(live.log.n_events)],
  ]);
  at("version").textContent = `${s.agent ? s.agent + " decides, in " : ""}graphcb ${s.version}.`;
}

function show(live) {
  const name = live.name || "graphcb";
  at("name").textContent = name;
  document.title = `${name} · graphcb`;
  scale = digits(live.estimates.policy);
  at("main").hidden = false;
  showScope(live);
  showTiles(live);
  showCurve(live);
  showActions(live);
  showExploration(live);
  showRules(live);
  showAlarms(live);
  showFeedback(live);
  showGraph(live);
  showVersions(live);
  showService(live);
  if (Date.now() - tables > 5000) {
    showLongTables(live);
    tables = Date.now();
  }
  const behind = live.log.n_events - live.log.seen_event;
  const now = counted(live);
  const since = now && !now.is_whole && live.versions.n < 2 ? `, counted from event ${whole(live.log.first_event)} on` : "";
  if (live.service.is_compiling) state("machine code is being compiled, up to 15 s: requests wait", true);
  else state(behind > 2000 ? `reading the log: ${whole(behind)} events to go` : `live${since}`, true);
}

function state(text, on) {
  at("dot").className = on ? "dot on" : "dot off";
  if (at("state").textContent !== text) at("state").textContent = text; // said aloud if it changes
}

function askForKey(text) {
  at("ask").hidden = false;
  at("main").hidden = true;
  at("ask-error").textContent = key ? text : "";
  state("a key is needed", false);
}

function ask(path, patience) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const signal = patience ? AbortSignal.timeout(patience) : undefined;
  return fetch(path.replace("/v1", BASE), { headers, cache: "no-store", signal });
}

async function explain(id) {
  const answer = await ask(`/v1/decisions/${encodeURIComponent(id)}/explanation`);
  const content = await answer.json();
  at("why-text").textContent = answer.ok ? content.text : content.error.message;
}

async function look() {
  let wait = EVERY;
  try {
    const answer = await ask("/v1/live", PATIENCE);
    const content = await answer.json();
    if (answer.status === 202) {
      state(content.starting, true);
    } else if (answer.ok) {
      at("ask").hidden = true;
      show(content);
    } else if (answer.status === 401 || answer.status === 403) {
      askForKey(content.error.message);
      return; // until a key is given
    } else {
      state(content.error.message, false);
      wait = 3 * EVERY;
    }
  } catch (problem) {
    // No connection, no answer in time, or one that is not JSON: a proxy's.
    if (![TypeError, DOMException, SyntaxError].some((kind) => problem instanceof kind)) throw problem;
    state(SILENT, false);
    wait = 3 * EVERY;
  }
  setTimeout(look, wait);
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  key = at("key").value.trim();
  sessionStorage.setItem("graphcb-key", key);
  look();
});
at("why").addEventListener("submit", (event) => {
  event.preventDefault();
  explain(at("why-id").value.trim()).catch(() => (at("why-text").textContent = SILENT));
});
look();
