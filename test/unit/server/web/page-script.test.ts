import vm from 'node:vm';
import { expect, it } from 'vitest';
import { SCRIPT } from '../../../../src/server/web/pages/assets.ts';

/** As much of an element as the script uses; setting markup is not among it. */
class Element {
  readonly children: Element[] = [];
  readonly dataset: Record<string, string> = {};
  className = '';
  textContent = '';
  readonly tag: string;
  constructor(tag: string) {
    this.tag = tag;
  }
  append(child: Element): void {
    this.children.push(child);
  }
  get childElementCount(): number {
    return this.children.length;
  }
  get firstElementChild(): { remove: () => void } {
    return { remove: () => void this.children.shift() };
  }
}

/** Runs the script on a page with a log, with a server whose log is `pieces`, one for each time it looks. */
async function pageWith(
  pieces: readonly string[],
  looks: number,
): Promise<{ log: Element; asked: string[] }> {
  const log = new Element('div');
  Object.assign(log.dataset, { run: '7', attempt: '2', offset: '10' });
  const body = new Element('body');
  body.dataset['live'] = '1';
  const asked: string[] = [];
  const ticks: (() => Promise<void>)[] = [];
  const left = [...pieces];
  const document = {
    hidden: false,
    body: Object.assign(body, { scrollHeight: 100 }),
    getElementById: () => log,
    querySelectorAll: () => [],
    createElement: (tag: string) => new Element(tag),
  };
  const fetched = async (url: string) => {
    asked.push(url);
    const bytes = Buffer.from(left.shift() ?? '', 'latin1');
    return { ok: true, text: async () => '', arrayBuffer: async () => new Uint8Array(bytes).buffer };
  };
  vm.runInNewContext(SCRIPT, {
    document,
    location: { href: '/runs/7' },
    fetch: (url: string) => (url === '/runs/7' ? { ok: true, text: async () => '' } : fetched(url)),
    DOMParser: class {
      parseFromString() {
        return { getElementById: () => log, querySelector: () => null, body };
      }
    },
    TextDecoder,
    Uint8Array,
    innerHeight: 10,
    scrollY: 90,
    scrollTo: () => {},
    setTimeout: (tick: () => Promise<void>) => ticks.push(tick),
  });
  for (let look = 0; look < looks; look++) await ticks.shift()?.();
  return { log, asked };
}

const texts = (log: Element) => log.children.map((line) => line.children.at(-1)?.textContent);

it('the page appends what the log has gained, as text, wherever the bytes were cut', async () => {
  const euro = Buffer.from('1500 2 e <b>€</b>\n').toString('latin1');
  const { log, asked } = await pageWith([`5 1 o first\n${euro.slice(0, 14)}`, euro.slice(14)], 2);
  expect(texts(log)).toEqual(['first', '<b>€</b>']);
  expect(log.children[1]).toMatchObject({ className: 'line e' });
  expect(log.children[1]?.children.map((cell) => [cell.tag, cell.textContent])).toEqual([
    ['i', '1.50'],
    ['b', '2'],
    ['span', '<b>€</b>'],
  ]);
  expect(asked[0]).toContain('/api/runs/7/log?attempt=2&maxBytes=262144&offset=10');
  expect(asked[1]).toContain(`offset=${10 + 12 + 14}`);
});

it('the page shows no terminal sequences and keeps no more than its last lines', async () => {
  const many = Array.from({ length: 3000 }, (_, index) => `1 1 o \u001b[31m${index}\u001b[0m\n`).join('');
  const { log } = await pageWith([many], 1);
  expect(log.children).toHaveLength(2000);
  expect(texts(log).at(-1)).toBe('2999');
});

it('the page has no way to markup', () => {
  expect(SCRIPT).not.toMatch(/innerHTML\s*=(?!=)|insertAdjacentHTML|document\.write|eval\(/);
});
