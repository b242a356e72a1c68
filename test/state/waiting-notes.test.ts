import { expect, it } from 'vitest';
import { WaitingNotes } from '../../src/state/postgresql/waiting-notes.ts';

it('tells once that PostgreSQL is missing, then each minute, and once that it is back, twice in a row', () => {
  let now = 0;
  const said: string[] = [];
  const notes = new WaitingNotes(
    (message) => said.push(`${now / 1000}: ${message}`),
    () => now,
  );
  for (const begin of [0, 1_000_000]) {
    said.length = 0;
    for (let attempt = 0; attempt < 361; attempt += 1) {
      now = begin + attempt * 500;
      notes.attemptFailed(attempt % 2 === 0 ? 'the database system is starting up' : 'connect ECONNREFUSED');
    }
    notes.over();
    notes.over();
    const at = (seconds: number): number => begin / 1000 + seconds;
    expect(said).toEqual([
      `${at(0)}: waiting for PostgreSQL: the database system is starting up`,
      `${at(60)}: waiting for PostgreSQL for 60 s: the database system is starting up`,
      `${at(120)}: waiting for PostgreSQL for 120 s: the database system is starting up`,
      `${at(180)}: waiting for PostgreSQL for 180 s: the database system is starting up`,
      `${at(180)}: PostgreSQL answers, after 180 s`,
    ]);
  }
});
