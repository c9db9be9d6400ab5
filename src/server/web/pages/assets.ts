/** Served as files of their own, since the pages' policy allows nothing inline. */
export const STYLE = `
:root { color-scheme: light dark; --fg: #1c1f23; --bg: #fff; --faint: #6a737d; --line: #e1e4e8; --link: #0b62c4;
  --pass: #1a7f37; --fail: #c62828; --run: #8a6100; --wait: #57606a; --log: #f6f8fa; --err: #9a2020; --own: #57606a; }
@media (prefers-color-scheme: dark) { :root { --fg: #d8dee4; --bg: #14171a; --faint: #8b949e; --line: #2d333b;
  --link: #6cb0ff; --pass: #4cc16a; --fail: #ff7b72; --run: #e3b341; --wait: #9aa4af; --log: #1b1f24; --err: #ff9d96; --own: #8b949e; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: var(--fg); background: var(--bg); }
header { display: flex; gap: 1.5rem; align-items: baseline; padding: .7rem 1.2rem; border-bottom: 1px solid var(--line); }
header nav a { margin-right: 1rem; } .brand { font-weight: 700; font-size: 1.15rem; color: var(--fg); }
main { padding: .6rem 1.2rem 3rem; max-width: 110rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
h1 { font-size: 1.35rem; margin: .6rem 0; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; } main { overflow-x: auto; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--faint); font-size: .85rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; } dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
code, pre, #log { font-family: ui-monospace, monospace; font-size: .86em; }
.faint, .busy { color: var(--faint); font-weight: 400; } ul.inline { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
.state { font-weight: 600; color: var(--wait); } .state.passed { color: var(--pass); } .state.running { color: var(--run); }
.state.failed, .state.timed-out, .state.lost, .state.refused { color: var(--fail); }
.fault, #log { background: var(--log); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; overflow-x: auto; }
.fault { white-space: pre-wrap; } .why { overflow-wrap: anywhere; }
.line { display: flex; gap: .8rem; } .line i { flex: 0 0 5.5em; text-align: right; font-style: normal; color: var(--faint); user-select: none; }
.line b { flex: 0 0 1.5em; font-weight: 400; color: var(--faint); user-select: none; } .line span { white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1.45em; }
.line.e span { color: var(--err); } .line.v span { color: var(--own); font-style: italic; }
`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#8a6100"/><circle cx="5.5" cy="7" r="1.2" fill="#fff"/><circle cx="10.5" cy="7" r="1.2" fill="#fff"/></svg>`;

/**
 * Replaces what changed and appends to the log, with \`textContent\` alone. It polls rather than
 * holds a stream open, since a browser allows a host few connections and a person opens many tabs.
 */
export const SCRIPT = `'use strict';
(() => {
  const MAX_LINES = 2000, MAX_BYTES = 262144, EVERY_MS = 2000;
  const log = document.getElementById('log');
  let offset = log ? Number(log.dataset.offset) : 0, carry = '', decoder = new TextDecoder();
  const control = /\\u001b(?:\\[[0-?]*[ -\\/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?|[@-Z\\\\-_])|[\\u0000-\\u0008\\u000b-\\u001f\\u007f]/g;

  function append(text) {
    const match = /^(\\d+) (\\d+) ([oevOEV]) ([^]*)$/.exec(text);
    if (!match) return;
    const line = document.createElement('div');
    line.className = 'line ' + match[3].toLowerCase();
    for (const [tag, content] of [['i', (match[1] / 1000).toFixed(2)], ['b', match[2]], ['span', match[4].replace(control, '')]]) {
      const cell = document.createElement(tag);
      cell.textContent = content;
      line.append(cell);
    }
    log.append(line);
  }

  async function readLog() {
    for (;;) {
      const reply = await fetch('/api/runs/' + log.dataset.run + '/log?attempt=' + log.dataset.attempt + '&maxBytes=' + MAX_BYTES + '&offset=' + offset);
      if (!reply.ok) return;
      const bytes = new Uint8Array(await reply.arrayBuffer());
      const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 40;
      offset += bytes.length;
      const lines = (carry + decoder.decode(bytes, { stream: true })).split('\\n');
      carry = lines.pop();
      for (const line of lines.slice(-MAX_LINES)) append(line);
      while (log.childElementCount > MAX_LINES) log.firstElementChild.remove();
      if (atEnd && bytes.length) scrollTo(0, document.body.scrollHeight);
      if (bytes.length < MAX_BYTES) return;
    }
  }

  async function refresh() {
    const reply = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (!reply.ok) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), 'text/html');
    const freshLog = fresh.getElementById('log');
    if (log && freshLog && freshLog.dataset.attempt !== log.dataset.attempt) return location.reload();
    for (const part of document.querySelectorAll('[data-part]')) {
      const other = fresh.querySelector('[data-part="' + part.dataset.part + '"]');
      if (other && other.innerHTML !== part.innerHTML) part.replaceWith(document.importNode(other, true));
    }
    document.body.dataset.live = fresh.body.dataset.live;
  }

  async function tick() {
    try {
      if (!document.hidden) {
        await refresh();
        if (log) await readLog();
      }
    } catch {
      // the server is away: looked for again
    }
    if (document.body.dataset.live === '1') setTimeout(tick, EVERY_MS);
  }
  if (document.body.dataset.live === '1') setTimeout(tick, EVERY_MS);
})();
`;
