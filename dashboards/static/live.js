// Reads the page again now and then, and swaps what has changed, while nobody is in the middle of something.
const live = document.getElementById("live");
const seconds = Number(live?.dataset.every);

function busy() {
  const focused = document.activeElement;
  return document.hidden || (live.contains(focused) && focused.matches("input, select, textarea, button"));
}

async function refresh() {
  if (busy()) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = fresh.getElementById("live");
  if (!next || busy()) return;
  const focused = live.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const opened = [...live.querySelectorAll("details[open]")].map((details) => details.id);
  live.replaceChildren(...next.childNodes);
  for (const details of live.querySelectorAll("details")) details.open = opened.includes(details.id);
  document.title = fresh.title;
  document.querySelector("header.bar nav")?.replaceWith(fresh.querySelector("header.bar nav"));
  if (focused) live.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

if (live && seconds > 0) setInterval(() => refresh().catch(() => {}), seconds * 1000);
