const wide = matchMedia('(min-width: 64rem)'), drawer = document.querySelector('nav > details');
const all = (what, where = document) => [...where.querySelectorAll(what)];
const make = (tag, name) => Object.assign(document.createElement(tag), { className: name });

// The contents stand at the side where there is room, and are a drawer elsewhere; on a phone the parts are folded too.
drawer.open = wide.matches;
if (matchMedia('(max-width: 40rem)').matches) all('details.part').forEach(part => { part.open = false; });
wide.addEventListener('change', () => { drawer.open = wide.matches; });
document.querySelector('nav').addEventListener('click', event => {
  if (event.target.closest('a') && !wide.matches) drawer.open = false;
});
addEventListener('keydown', event => { if (event.key === 'Escape' && !wide.matches) drawer.open = false; });

// What is folded lies packed in a script until it is wanted, and drawings until the page stands: a print has them all.
const PACKED = 'script[type="application/gzip"]';
const inflated = script => new Response(new Blob([Uint8Array.from(atob(script.textContent), letter => letter.charCodeAt(0))])
  .stream().pipeThrough(new DecompressionStream('gzip'))).text();
const unpack = async box => {
  const script = box.querySelector(`:scope > ${PACKED}`);
  if (!script || script.dataset.taken) return;
  script.dataset.taken = '1';
  const markup = await inflated(script);
  script.insertAdjacentHTML('afterend', markup);
  script.remove();
  watch(box);
};
addEventListener('toggle', event => { if (event.target.open) unpack(event.target); }, true);
addEventListener('load', () => requestIdleCallback(() => all('.drawing > div').forEach(unpack)));
addEventListener('beforeprint', () => all('details.part').forEach(part => { part.open = true; }));

// What scrolls sideways can be reached with the keyboard, and nothing else stops the tab key. All are read, then all written.
const reach = new ResizeObserver(seen => seen.map(({ target }) => [target, target.scrollWidth > target.clientWidth])
  .forEach(([box, wide]) => { if (wide) box.tabIndex = 0; else box.removeAttribute('tabindex'); }));
const watch = where => all('.formula, .scroll, .drawing', where).forEach(box => reach.observe(box));
watch(document);

// A link into something folded unfolds it.
const unfold = async () => {
  const id = decodeURIComponent(location.hash.slice(1));
  if (id && !document.getElementById(id)) await Promise.all(all('details.folded').map(unpack));
  const target = id && document.getElementById(id);
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

// Search: sections, figures and rules whose text has every word; those with the words in their heading come first.
const query = document.getElementById('query'), hits = document.getElementById('hits'), told = document.getElementById('told');
let entries = null;
const said = node => {
  const copy = node.cloneNode(true);
  all('script, .here', copy).forEach(part => part.remove());
  return copy.textContent.trim();
};
const opened = async box => {
  const copy = box.cloneNode(true);
  for (const script of all(`details > ${PACKED}`, copy)) {
    const markup = await inflated(script);
    // of a proof the words are enough, and its formulas would take seconds to build
    if (script.parentElement.className === 'chain') script.replaceWith(markup.replace(/<[^>]+>/g, ' '));
    else script.outerHTML = markup;
  }
  return copy;
};
const indexed = async part => {
  const whole = await opened(part);
  return all('h2[id], h3[id], figure[id], dt[id]', whole).map(head => {
    const title = said(head.tagName === 'FIGURE' ? head.querySelector('figcaption') : head);
    const own = head.tagName === 'FIGURE' ? head : head.closest('section');
    let body = head.tagName === 'H2' && own.querySelector('h3, figure, dt') ? '' : said(own);
    if (head.tagName === 'DT') {
      body = '';
      for (let next = head.nextElementSibling; next && next.tagName === 'DD'; next = next.nextElementSibling) body += said(next);
    }
    return { id: head.id, title: title.length > 90 ? `${title.slice(0, 88)} …` : title, head: title.toLowerCase(), body: body.toLowerCase() };
  });
};
const stem = word => word.length > 7 ? word.replace(/(ity|ous|ies|ing|ed|s)$/, '') : word;
query.addEventListener('input', async () => {
  entries = entries || Promise.all(all('main > section').map(indexed)).then(parts => parts.flat());
  const known = await entries, words = query.value.toLowerCase().split(/\s+/).filter(Boolean).map(stem);
  const phrase = ` ${query.value.toLowerCase().trim()} `, spaced = text => ` ${text.replace(/[^\p{L}\p{N}]+/gu, ' ')} `;
  const rank = item => spaced(item.head).includes(phrase) ? 3 : words.every(word => item.head.includes(word)) ? 2
    : words.every(word => item.head.includes(word) || item.body.includes(word)) ? 1 : 0;
  const found = words.length ? known.map(item => [rank(item), item]).filter(([score]) => score) : [];
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
const nearest = (lines, px, py) => {
  let best = [REACH, null, 0];
  for (const line of lines) for (let i = 0; i < line.x.length; i++) {
    const far = Math.hypot(px - line.at[2 * i], py - line.at[2 * i + 1]);
    if (far < best[0]) best = [far, line, i];
  }
  return best;
};
all('figure').forEach(figure => {
  const data = figure.querySelector('script[type="application/json"]'), box = figure.querySelector('.drawing > div');
  if (!data || !box) return;
  let lines = null;
  const mark = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
  mark.setAttribute('r', '3.2');
  mark.setAttribute('class', 'mark');
  const hide = () => { tip.hidden = true; mark.setAttribute('visibility', 'hidden'); };
  const point = event => {
    const svg = box.querySelector('svg');
    if (!svg) return;
    if (mark.parentNode !== svg) svg.append(mark);
    lines = lines || JSON.parse(data.textContent);
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const [, line, i] = nearest(lines, x, y);
    if (!line) return hide();
    mark.setAttribute('cx', line.at[2 * i]);
    mark.setAttribute('cy', line.at[2 * i + 1]);
    mark.setAttribute('visibility', 'visible');
    tip.textContent = `${line.name ? line.name + ': ' : ''}${line.y[i]} at ${line.of}${line.x[i]}`;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
  };
  box.addEventListener('pointermove', point);
  box.addEventListener('pointerdown', point);
  box.addEventListener('pointerleave', hide);
});
