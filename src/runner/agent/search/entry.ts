/**
 * STANDS IN for ripgrep, a program of its own that the agents' server starts as `rg` to find and search
 * files. The server would fetch ripgrep where there is none, and nothing is fetched here. It understands
 * what the server asks, and refuses all else.
 */
import { parseSearch } from './arguments.ts';
import { filesOf, matchesIn, patternOf } from './search.ts';

const FOUND = 0;
const NOTHING = 1;
const REFUSED = 2;

function refuse(why: string): number {
  process.stderr.write(`${why}\n`);
  return REFUSED;
}

async function search(args: readonly string[]): Promise<number> {
  const request = parseSearch(args);
  if (typeof request === 'string') return refuse(`this stand-in for ripgrep does not understand ${request}`);
  const pattern = request.pattern === null ? null : patternOf(request.pattern);
  if (typeof pattern === 'string') return refuse(pattern);
  let found = false;
  for (const file of await filesOf(request, process.cwd())) {
    if (pattern === null) {
      found = true;
      process.stdout.write(`./${file}\n`);
      continue;
    }
    for (const match of matchesIn(file, process.cwd(), pattern)) {
      found = true;
      process.stdout.write(`${JSON.stringify(match)}\n`);
    }
  }
  return found ? FOUND : NOTHING;
}

process.stdout.on('error', () => process.exit(FOUND)); // who asked has enough
process.exitCode = await search(process.argv.slice(2));
