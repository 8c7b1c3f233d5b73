/* What scrolls sideways can be reached with the keyboard. */
const scrolled = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const block of document.querySelectorAll(".highlight pre, .table-wrapper, .formula")) scrolled.observe(block);

/* The search field of a page of keys: shows the rows that have every word, and opens the sections around them. */
const box = document.querySelector(".key-search");
if (box) {
  const field = box.querySelector("input"), found = box.querySelector("[role=status]");
  const sections = [...document.querySelectorAll("details.keys")].map((details) => {
    const kind = details.closest("section")?.id ?? "";
    const name = details.querySelector("summary code").textContent;
    const rows = [...details.querySelectorAll("tbody tr")].map((row) => [row, `${kind} ${name} ${row.textContent}`.toLowerCase()]);
    return { details, rows };
  });
  const others = [...document.querySelectorAll("details.keys > div > p, .same-keys")];
  const kinds = new Set(sections.map(({ details }) => details.closest("section")));

  const search = () => {
    const words = field.value.toLowerCase().split(/[\s.[\]]+/).filter(Boolean);
    let keys = 0, places = 0;
    for (const { details, rows } of sections) {
      let here = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        here += !row.hidden;
      }
      details.hidden = !here;
      details.open = here > 0 && words.length > 0;
      for (const table of details.querySelectorAll(".table-wrapper")) table.hidden = !table.querySelector("tbody tr:not([hidden])");
      keys += here;
      places += here > 0;
    }
    for (const other of others) other.hidden = words.length > 0;
    for (const kind of kinds) kind.hidden = !kind.querySelector("details.keys:not([hidden])");
    found.textContent = words.length ? `${keys} ${keys === 1 ? "key" : "keys"} in ${places} ${places === 1 ? "section" : "sections"}` : "";
  };

  box.hidden = false;
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; search(); }
  });
  // A link to a form leads there whatever is searched for.
  addEventListener("hashchange", () => {
    if (field.value) { field.value = ""; search(); document.querySelector(location.hash)?.closest("details")?.setAttribute("open", ""); }
    document.querySelector(location.hash)?.scrollIntoView();
  });
}
