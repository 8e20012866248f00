const wide = matchMedia('(min-width: 64rem)'), drawer = document.querySelector('nav > details');
const all = (what, where = document) => [...where.querySelectorAll(what)];
const make = (tag, name) => Object.assign(document.createElement(tag), { className: name });

// The contents stand at the side where there is room, and are a drawer elsewhere.
drawer.open = wide.matches;
wide.addEventListener('change', () => { drawer.open = wide.matches; });
document.querySelector('nav').addEventListener('click', event => {
  if (event.target.closest('a') && !wide.matches) drawer.open = false;
});
addEventListener('keydown', event => { if (event.key === 'Escape' && !wide.matches) drawer.open = false; });

// A link into something folded unfolds it.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target; box; box = box.parentElement) if (box.tagName === 'DETAILS') box.open = true;
  if (target) {
    const chain = target.closest('section').querySelector(':scope > details.chain');
    if (chain && target.tagName === 'H3') chain.open = true;
    target.scrollIntoView();
  }
};
addEventListener('hashchange', unfold);
unfold();

const chains = all('details.chain'), button = document.getElementById('fold');
if (button) button.addEventListener('click', () => {
  const open = button.dataset.open !== '1';
  chains.forEach(chain => { chain.open = open; });
  button.dataset.open = open ? '1' : '0';
  button.textContent = open ? 'Fold all proofs' : 'Unfold all proofs';
});

// Search: sections whose text has every word; those with the words in their heading come first.
const query = document.getElementById('query'), hits = document.getElementById('hits'), told = document.getElementById('told');
let entries = null;
const bare = head => {
  const copy = head.cloneNode(true);
  all('a, .meta', copy).forEach(link => link.remove());
  return copy.textContent.trim();
};
const under = head => {
  if (head.tagName === 'H2') return '';
  if (head.tagName === 'H3') return head.closest('section').textContent;
  let said = head.textContent;
  for (let next = head.nextElementSibling; next && next.tagName === 'DD'; next = next.nextElementSibling) said += next.textContent;
  return said;
};
const entry = head => {
  const title = bare(head);
  return { id: head.id, title, head: title.toLowerCase(), body: under(head).toLowerCase() };
};
query.addEventListener('input', () => {
  entries = entries || all('main h2[id], main h3[id], main dt[id]').map(entry);
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = item => words.every(word => item.head.includes(word)) ? 2
    : words.every(word => item.head.includes(word) || item.body.includes(word)) ? 1 : 0;
  const found = words.length ? entries.map(item => [rank(item), item]).filter(([score]) => score) : [];
  found.sort((one, two) => two[0] - one[0]);
  hits.replaceChildren(...found.slice(0, 40).map(([, item]) => {
    const row = make('li', ''), link = make('a', '');
    link.href = '#' + item.id;
    link.textContent = item.title;
    row.append(link);
    return row;
  }));
  told.textContent = words.length ? (found.length ? `${found.length} found` : 'Nothing found') : '';
  document.getElementById('contents').hidden = words.length > 0;
});

// The chapter that is read is marked in the contents.
const places = new Map(all('#contents a').map(link => [link.getAttribute('href').slice(1), link]));
const seen = new IntersectionObserver(shown => shown.forEach(({ target, isIntersecting }) => {
  const link = places.get(target.getAttribute('aria-labelledby'));
  if (link) link.toggleAttribute('data-read', isIntersecting);
}), { rootMargin: '-10% 0px -80% 0px' });
all('main > section').forEach(part => seen.observe(part));

// Pointing at a curve says its value at the nearest point that was computed.
const tip = make('div', 'tip'), REACH = 14;
tip.setAttribute('aria-hidden', 'true');
tip.hidden = true;
document.body.append(tip);
const across = (px, py, at, i) => {
  const [ax, ay, bx, by] = at.slice(2 * i, 2 * i + 4), dx = bx - ax, dy = by - ay;
  const along = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)));
  return [Math.hypot(px - ax - along * dx, py - ay - along * dy), along > 0.5 ? i + 1 : i];
};
const nearest = (lines, px, py) => {
  let best = [REACH, null, 0];
  for (const line of lines) {
    const points = line.x.length;
    for (let i = 0; i < Math.max(points - 1, 1); i++) {
      const [far, point] = points > 1 ? across(px, py, line.at, i) : [Math.hypot(px - line.at[0], py - line.at[1]), 0];
      if (far < best[0]) best = [far, line, point];
    }
  }
  return best;
};
all('figure').forEach(figure => {
  const data = figure.querySelector('script[type="application/json"]'), svg = figure.querySelector('svg');
  if (!data || !svg) return;
  let lines = null;
  const mark = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
  mark.setAttribute('r', '3.2');
  mark.setAttribute('class', 'mark');
  mark.setAttribute('visibility', 'hidden');
  svg.append(mark);
  const hide = () => { tip.hidden = true; mark.setAttribute('visibility', 'hidden'); };
  const point = event => {
    lines = lines || JSON.parse(data.textContent);
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const [, line, i] = nearest(lines, x, y);
    if (!line) return hide();
    mark.setAttribute('cx', line.at[2 * i]);
    mark.setAttribute('cy', line.at[2 * i + 1]);
    mark.setAttribute('visibility', 'visible');
    tip.textContent = `${line.name ? line.name + ': ' : ''}${line.y[i]} at ${line.x[i]}`;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
  };
  svg.addEventListener('pointermove', point);
  svg.addEventListener('pointerdown', point);
  svg.addEventListener('pointerleave', hide);
});

// What scrolls sideways can be reached with the keyboard, and nothing else stops the tab key.
const reach = () => all('.formula, .scroll, .drawing').forEach(box => {
  if (box.scrollWidth > box.clientWidth) { box.tabIndex = 0; } else { box.removeAttribute('tabindex'); }
});
addEventListener('resize', reach); addEventListener('toggle', reach, true); reach();
