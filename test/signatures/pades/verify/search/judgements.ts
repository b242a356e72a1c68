import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judged, type Judgement } from './pyhanko.ts';
import { keptShown, shownElse, shownOf, type Shown } from './shown.ts';
import type { Subject } from './subjects.ts';
import type { Trial } from './trials.ts';

/** What others make of a revision that this service accepts. */
export interface Judged {
  readonly trial: Trial;
  readonly pyhanko: Judgement;
  /** What it shows that the signed revision does not, and the kind of revision does not have. */
  readonly shown: string | undefined;
}

interface Signed {
  readonly shown: Shown;
  readonly pyhanko: Judgement;
}

/** Judges revisions by pyHanko and poppler. */
export class Judges {
  readonly #directory: string;
  readonly #signed = new Map<Subject, Signed>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  judge(trials: readonly Trial[]): readonly Judged[] {
    const subjects = [...new Set(trials.map(({ subject }) => subject))].filter((one) => !this.#signed.has(one));
    const pdfs = [...subjects, ...trials].map(({ pdf }) => pdf);
    const paths = pdfs.map((pdf, index) => {
      const path = join(this.#directory, `judged-${index}.pdf`);
      writeFileSync(path, pdf);
      return path;
    });
    const answers = judged(paths);
    const answerAt = (index: number): Judgement => {
      const answer = answers[index];
      if (answer === undefined) throw new Error('pyHanko did not answer');
      return answer;
    };
    for (const [index, subject] of subjects.entries())
      this.#signed.set(subject, { shown: keptShown(paths[index] ?? ''), pyhanko: answerAt(index) });
    const found = trials.map((trial, index): Judged => {
      const at = subjects.length + index;
      const pyhanko = answerAt(at);
      const signed = this.#signed.get(trial.subject);
      if (signed === undefined) throw new Error('the signed revision was not judged');
      const shown = shownElse(signed.shown, shownOf(paths[at] ?? ''), trial.area, trial.subject.parts.isRotated);
      return { trial, pyhanko, shown: shown ?? otherValues(trial, signed.pyhanko, pyhanko) };
    });
    for (const path of paths) rmSync(path);
    return found;
  }
}

/** Fields have the values that they had, but for one that is filled in. */
function otherValues({ valuesMax }: Trial, before: Judgement, after: Judgement): string | undefined {
  // Of a file that pyHanko cannot read, it tells no values.
  if (Object.keys(after.values).length === 0) return undefined;
  const names = new Set([...Object.keys(before.values), ...Object.keys(after.values)]);
  const changed = [...names].filter((name) => before.values[name] !== after.values[name]);
  return changed.length > valuesMax ? `the values of ${changed.join(', ')}` : undefined;
}
