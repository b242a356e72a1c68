import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rounds } from '../../../support/repetitions.ts';
import { skipNote } from '../../../support/skip-note.ts';
import { refusalOfRevision } from './revised-pdf.ts';
import { searchedFiles } from './search/corpus.ts';
import { acceptedEntries } from './search/entry-changes.ts';
import { explanationOf } from './search/explanations.ts';
import { Judges, type Judged } from './search/judgements.ts';
import { refusedAdditions } from './search/later-signers.ts';
import { withoutPyhanko } from './search/pyhanko.ts';
import { subjectsOf, type Subject } from './search/subjects.ts';
import { acceptedChanges, acceptedValues, type Trial } from './search/trials.ts';

const hourMs = 3_600_000;
const times = rounds ?? 1;
/** Tries for each signed file. */
const changesEach = 6 * times;
const valuesEach = 2 * times;
const entriesEach = 6 * times;
/** Revisions that are judged at a time. */
const batchSize = 100;

let directory = '';
let subjects: readonly Subject[] = [];

function note(text: string): void {
  process.stdout.write(`${text}\n`);
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-search-'));
  const { files, missing } = searchedFiles(directory);
  const made = subjectsOf(files, directory);
  subjects = made.subjects;
  note(`${files.length} files, signed in ${subjects.length} ways${missing.length === 0 ? '' : `; not installed: ${missing.join(', ')}`}`);
  for (const fault of made.faults) note(`not signed by pyHanko: ${fault}`);
}, hourMs);

afterAll(() => rmSync(directory, { recursive: true }));

/** Has revisions judged, and returns those that nothing explains. */
class Findings {
  readonly #judges = new Judges(directory);
  readonly #waiting: Trial[] = [];
  readonly #explained = new Map<string, number>();
  readonly unexplained: string[] = [];
  #accepted = 0;

  add(trial: Trial): void {
    this.#accepted += 1;
    this.#waiting.push(trial);
    if (this.#waiting.length === batchSize) this.#judge();
  }

  /** Tells what was found. */
  finish(): void {
    this.#judge();
    note(`accepted here: ${this.#accepted}, laxer than others: unexplained ${this.unexplained.length}`);
    for (const [rule, count] of this.#explained) note(`${count} laxer than pyHanko: ${rule}`);
  }

  #judge(): void {
    for (const one of this.#judges.judge(this.#waiting.splice(0))) this.#look(one);
  }

  #look({ trial, pyhanko, shown }: Judged): void {
    if (shown !== undefined) this.unexplained.push(`${trial.name}: shows something else: ${shown}`);
    if (pyhanko.accepted) return;
    const rule = explanationOf(trial, pyhanko);
    if (rule === undefined) this.unexplained.push(`${trial.name}: ${pyhanko.why}`);
    else this.#explained.set(rule, (this.#explained.get(rule) ?? 0) + 1);
  }
}

describe('the search for a place that leads to a change that is not allowed', () => {
  it('begins with signatures that hold', () => {
    expect(subjects.filter(({ pdf }) => refusalOfRevision(pdf) !== undefined).map(({ name }) => name)).toEqual([]);
  });

  it(
    'finds none beside changes that are not allowed: a sample, and all of one file with SIGNETD_ROUNDS above 10',
    async () => {
      expect(await acceptedChanges(subjects, { count: changesEach }, note)).toEqual([]);
      if (times <= 10) return;
      const whole = subjects.filter(({ name }) => /^hand: rich, (approved|level [23]) by us$/.test(name));
      expect(await acceptedChanges(whole, { count: Infinity, isPlain: true }, note)).toEqual([]);
    },
    24 * hourMs,
  );

  it.skipIf(withoutPyhanko !== undefined)(
    `finds nothing in which this service is laxer than others, but for what is explained${skipNote(withoutPyhanko)}`,
    async () => {
      const findings = new Findings();
      for await (const trial of acceptedValues(subjects, valuesEach, note)) findings.add(trial);
      for (const trial of acceptedEntries(subjects, entriesEach, note)) findings.add(trial);
      findings.finish();
      expect(findings.unexplained).toEqual([]);
    },
    24 * hourMs,
  );

  it.skipIf(withoutPyhanko !== undefined)(
    `leaves what pyHanko adds as it is allowed${skipNote(withoutPyhanko)}`,
    () => {
      const { refused, count } = refusedAdditions(subjects, directory, Math.ceil(7 / times));
      // Without the entry, readers would show what they have not shown before.
      const known = refused.filter((one) => one.endsWith('NeedAppearances of the interactive form'));
      note(`additions by pyHanko: ${count}, refused: ${refused.length}, since they take NeedAppearances away: ${known.length}`);
      expect(refused.filter((one) => !known.includes(one))).toEqual([]);
    },
    hourMs,
  );
});
