// Asks, shows what is being done, then the answer. Markup comes from the server, which cleaned it; all else is text.
"use strict";

const form = document.querySelector("#ask");
const turns = document.querySelector("#turns");
const stop = document.querySelector("#stop");
const go = document.querySelector("#go");
const question = document.querySelector("#question");
const agent = document.querySelector("#agent");
const about = document.querySelector("#about");
const theme = document.querySelector("#theme");
const template = document.querySelector("#turn");
let earlier = [];
let under_way = null;

function show_theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  theme.textContent = name === "dark" ? "Dark" : name === "light" ? "Light" : "System";
}

theme.addEventListener("click", () => {
  const names = ["", "light", "dark"];
  const next = names[(names.indexOf(localStorage.getItem("theme") || "") + 1) % names.length];
  localStorage.setItem("theme", next);
  show_theme(next);
});
show_theme(localStorage.getItem("theme") || "");

function describe() {
  about.textContent = agent.selectedOptions[0]?.dataset.about || "";
}
agent.addEventListener("change", () => { earlier = []; describe(); });
describe();

question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
stop.addEventListener("click", () => under_way?.abort());

// Server-sent events of a POST: EventSource can only GET.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const kind = lines.find((l) => l.startsWith("event: "))?.slice(7);
      const data = lines.filter((l) => l.startsWith("data: ")).map((l) => l.slice(6)).join("\n");
      if (kind) yield [kind, JSON.parse(data)];
    }
  }
}

function turn_for(text) {
  const made = template.content.cloneNode(true).querySelector("article");
  made.querySelector("h2").textContent = text;
  turns.prepend(made);
  return made;
}

function say(made, text, is_wrong) {
  const line = document.createElement("li");
  line.textContent = text;
  if (is_wrong) line.className = "wrong";
  made.querySelector(".status").append(line);
}

async function ask(made, body) {
  const response = await fetch("ask", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal: under_way.signal,
  });
  if (!response.ok) {
    const problem = await response.json();
    say(made, [problem.detail, problem.errors?.[0]?.hint].filter(Boolean).join(". "), true);
    return;
  }
  let ended = false;
  for await (const [kind, data] of events(response)) {
    if (kind === "status") say(made, data.text, false);
    if (kind === "done") {
      ended = true;
      if (data.status === "answered") earlier.push({ question: body.question, answer: data.text });
      made.querySelector(".result").innerHTML = data.html;
    }
    if (kind === "problem") {
      ended = true;
      say(made, data.text, true);
    }
  }
  if (!ended) say(made, "The connection ended before the answer. The run is kept.", true);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = question.value.trim();
  if (!text || under_way) return;
  under_way = new AbortController();
  stop.hidden = false;
  go.disabled = true;
  const made = turn_for(text);
  made.setAttribute("aria-busy", "true");
  try {
    await ask(made, { agent: agent.value, question: text, earlier: earlier.slice(-20) });
    question.value = "";
  } catch (fault) {
    say(made, fault.name === "AbortError" ? "Stopped." : "The server cannot be reached.", true);
  } finally {
    made.setAttribute("aria-busy", "false");
    made.focus();
    under_way = null;
    stop.hidden = true;
    go.disabled = false;
  }
});
