import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { makeTemplateToken } from '../support/template-token.ts';
import { CopiedTree } from './copied-tree.ts';
import { mutantsOf, type Mutant } from './mutations.ts';
import { Outcomes, type Outcome } from './outcomes.ts';
import { ImportGraph } from './related-tests.ts';
import { filesOf, rooms } from './rooms.ts';
import { sample } from './sample.ts';

const usage = `usage: npm run test:mutants -- [options] [room or file in src/ ...]

Changes the sources in small ways, one at a time in a copy, and asks the tests nearest to each change whether they notice.
Rooms: ${Object.keys(rooms).join(', ')}; all of them where none is named. Outcomes are kept in var/mutants: a run that was ended goes on.

  --sample N     mutants of each room or file (default 30)
  --all          every mutant
  --seed TEXT    another sample
  --again        tries the ones that survived once more
  --seconds N    what the tests of one mutant may take when nothing is changed (default 60)
  --report       tries nothing, and tells what is known
`;

const root = join(import.meta.dirname, '..', '..');
const results = join(root, 'var', 'mutants');
/** Processes start slowly where a machine has other work. */
const startMs = 120_000;
/** No test file takes less. */
const leastMs = 1000;
const tooLongMax = 2;

const Equivalent = z.array(z.strictObject({ id: z.string(), file: z.string(), line: z.string(), change: z.string(), why: z.string() }));
const Durations = z.record(z.string(), z.number().nullable());

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '30' },
    all: { type: 'boolean', default: false },
    seed: { type: 'string', default: 'signetd' },
    again: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    report: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** Milliseconds of each test file where nothing is changed; null for one that fails even so. */
class TestDurations {
  readonly #path = join(results, 'durations.json');
  readonly #known: Record<string, number | null>;
  readonly #tree: CopiedTree;

  constructor(tree: CopiedTree) {
    this.#tree = tree;
    this.#known = existsSync(this.#path) ? Durations.parse(JSON.parse(readFileSync(this.#path, 'utf8'))) : {};
  }

  async of(test: string): Promise<number | null> {
    const known = this.#known[test];
    if (known !== undefined) return known;
    const began = performance.now();
    const { outcome } = await this.#tree.run([test], 300_000);
    const duration = outcome === 'passed' ? Math.round(performance.now() - began) : null;
    if (duration === null) say(`${test} fails where nothing is changed, and is left out`);
    this.#known[test] = duration;
    writeFileSync(this.#path, `${JSON.stringify(this.#known, undefined, 1)}\n`);
    return duration;
  }
}

interface Chosen {
  readonly tests: readonly string[];
  readonly milliseconds: number;
}

/** The nearest tests of a file that fit into the time, fast ones first. */
async function chosenTests(file: string, graph: ImportGraph, durations: TestDurations): Promise<Chosen> {
  const budget = Number(options.seconds) * 1000;
  const chosen: { path: string; duration: number }[] = [];
  let milliseconds = 0;
  let tooLong = 0;
  for (const { path } of graph.testsOf(file)) {
    const duration = await durations.of(path);
    if (duration === null) continue;
    if (milliseconds + duration <= budget) {
      chosen.push({ path, duration });
      milliseconds += duration;
    } else {
      tooLong += 1;
    }
    // Farther ones are rarely faster, and each has to be measured once.
    if (tooLong === tooLongMax || budget - milliseconds < leastMs) break;
  }
  return { tests: chosen.toSorted((one, other) => one.duration - other.duration).map(({ path }) => path), milliseconds };
}

async function judge(mutant: Mutant, room: string, tree: CopiedTree, { tests, milliseconds }: Chosen): Promise<Outcome> {
  const { id, file, line, lineText, change } = mutant;
  const common = { id, room, file, line, lineText, change, tests: tests.length };
  return tree.while(mutant, async () => {
    if (tests.length > 0) {
      const { outcome, failed } = await tree.run(tests, startMs + 3 * milliseconds);
      if (outcome === 'failed') return { ...common, outcome: 'killed', by: failed };
      if (outcome === 'timed out') return { ...common, outcome };
    }
    return { ...common, outcome: (await tree.compiles()) ? 'survived' : 'refused' };
  });
}

interface Selection {
  readonly name: string;
  readonly all: readonly Mutant[];
  readonly tried: readonly Mutant[];
}

function selections(): Selection[] {
  const names = positionals.length > 0 ? positionals : Object.keys(rooms);
  return names.map((name) => {
    const files = name.startsWith('src/') ? [name] : filesOf(root, name);
    const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
    return { name, all, tried: options.all ? all : sample(all, Number(options.sample), options.seed) };
  });
}

async function run(chosen: readonly Selection[], outcomes: Outcomes): Promise<void> {
  const templateToken = mkdtempSync(join(tmpdir(), 'signetd-template-token-'));
  const tree = new CopiedTree(root, templateToken);
  const removeAll = (): void => {
    tree.remove();
    rmSync(templateToken, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      removeAll();
      process.exit(130);
    });
  }
  try {
    process.chdir(root);
    await makeTemplateToken(templateToken);
    const graph = new ImportGraph(tree.directory);
    const durations = new TestDurations(tree);
    for (const { name, tried } of chosen) {
      for (const mutant of tried) {
        const known = outcomes.get(mutant)?.outcome;
        if (known !== undefined && !(options.again && known === 'survived')) continue;
        const outcome = await judge(mutant, name, tree, await chosenTests(mutant.file, graph, durations));
        outcomes.keep(outcome);
        say(told(outcome));
      }
    }
  } finally {
    removeAll();
  }
}

function report(chosen: readonly Selection[], outcomes: Outcomes): void {
  const equivalent = new Map(
    Equivalent.parse(JSON.parse(readFileSync(join(import.meta.dirname, 'equivalent.json'), 'utf8'))).map(({ id, why }) => [id, why]),
  );
  const rows = chosen.map(({ name, all, tried }) => {
    const known = tried.flatMap((mutant) => outcomes.get(mutant) ?? []);
    const count = (wanted: Outcome['outcome']): number => known.filter(({ outcome }) => outcome === wanted).length;
    const survived = known.filter(({ outcome }) => outcome === 'survived');
    const unseen = survived.filter(({ id }) => !equivalent.has(id));
    for (const one of unseen) say(told(one));
    const noticed = count('killed') + count('timed out');
    const score = noticed + unseen.length === 0 ? '' : `${((100 * noticed) / (noticed + unseen.length)).toFixed(1)} %`;
    return {
      ...{ name, mutants: all.length, tried: known.length, killed: count('killed'), 'timed out': count('timed out') },
      ...{ 'not compiled': count('refused'), equivalent: survived.length - unseen.length, survived: unseen.length, score },
    };
  });
  console.table(rows);
}

function told({ outcome, file, line, lineText, change, by, id }: Outcome): string {
  return `${outcome}  ${id}  ${file}:${line}  ${change}${outcome === 'survived' ? `\n          in: ${lineText}` : by === undefined ? '' : `  (${by})`}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (options.help) {
  say(usage);
} else {
  const chosen = selections();
  const outcomes = new Outcomes(join(results, 'outcomes.jsonl'));
  if (!options.report) await run(chosen, outcomes);
  report(chosen, outcomes);
}
