import { whenCommitted } from '../state/step.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { AdministrationWork } from './audit.ts';
import { administrationStep } from './audited-request.ts';
import type { Effect } from './effect.ts';
import type { AdministrationEntry } from './record.ts';
import { recordingUses, UseRecorder } from './use-recorder.ts';

/** A command of an operator while it is carried out. */
export class AdministeredWork {
  readonly #log: string;
  readonly #entry: AdministrationEntry;
  readonly #outboxIds: string[] = [];
  readonly #effects: Effect[] = [];
  /** Uses of the token for it. */
  readonly #uses = new UseRecorder();
  #said: Partial<AdministrationEntry> = {};

  /** @param entry with the uses that the command has announced */
  constructor(log: string, entry: AdministrationEntry) {
    this.#log = log;
    this.#entry = entry;
    for (const announced of entry.uses ?? []) this.#uses.take(announced);
  }

  /** Identifiers of the records that it put into the outbox. */
  get outboxIds(): readonly string[] {
    return this.#outboxIds;
  }

  /** Returns its record. A later use of the token does not belong to it. */
  record(): AdministrationEntry {
    const effects = this.#effects.length === 0 ? undefined : this.#effects;
    return { ...this.#entry, ...this.#said, uses: this.#uses.record(), effects };
  }

  /** Carries it out. @throws what it throws, which its record then has as its fault */
  async run<T>(work: AdministrationWork<T>): Promise<T> {
    try {
      const done = await recordingUses({ uses: this.#uses }, async () =>
        work((known, change) => {
          this.#said = known;
          const { id, step } = administrationStep(this.#log, { ...this.#entry, ...known, uses: this.#uses.soFar() }, change);
          this.#outboxIds.push(id);
          return [whenCommitted(step, () => this.#effects.push({ effect: this.#entry.command, change }))];
        }),
      );
      this.#said = { ...this.#said, ...done.said };
      return done.value;
    } catch (error) {
      this.#said = { ...this.#said, fault: reasonOf(error).replaceAll('\n', '; ') };
      throw error;
    }
  }
}
