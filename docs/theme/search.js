// Looks for words in SEARCHED, a list of [address, title, text], and lists the places that have all of them: those with
// the words in their titles first.

const box = document.getElementById("search"), results = document.getElementById("results");
const base = document.documentElement.dataset.base;

function score(entry, words) {
  const title = entry[1].toLowerCase(), text = entry[2].toLowerCase();
  let total = 0;
  for (const word of words) {
    if (title.includes(word)) total += 10;
    else if (text.includes(word)) total += 1;
    else return 0;
  }
  return total;
}

function around(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return (at ? "… " : "") + text.slice(at, at + 110) + " …";
}

box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
  results.replaceChildren();
  if (!words.length) return;
  const found = SEARCHED.map((entry) => [score(entry, words), entry]).filter(([s]) => s > 0);
  found.sort((a, b) => b[0] - a[0]);
  for (const [, entry] of found.slice(0, 12)) {
    const link = document.createElement("a"), text = document.createElement("small");
    link.href = base + "/" + entry[0];
    link.textContent = entry[1];
    text.textContent = around(entry[2], words[0]);
    const item = document.createElement("li");
    item.append(link, text);
    results.append(item);
  }
  if (!found.length) results.append(Object.assign(document.createElement("li"), { textContent: "nothing found" }));
});
