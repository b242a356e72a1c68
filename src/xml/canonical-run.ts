import type { PartInProgress } from './canonical-part.ts';
import type { PieceWindow } from './piece-window.ts';

/**
 * The bytes of the window that the active parts write as they stand, and have not yet written: they
 * are copied together when something else is to be written.
 */
export class CanonicalRun {
  readonly #window: PieceWindow;
  /** Parts that have the place which has been reached. A run belongs to one list of them. */
  active: readonly PartInProgress[];
  start = 0;

  constructor(window: PieceWindow, active: readonly PartInProgress[]) {
    this.#window = window;
    this.active = active;
  }

  /** Writes the run up to `end`, and begins the next one at `next`. */
  end(end: number, next: number): void {
    const { active, start } = this;
    const { bytes } = this.#window;
    if (end > start) for (let index = 0; index < active.length; index += 1) active[index]?.output.copy(bytes, start, end);
    this.start = next;
  }

  /** Writes `written` instead of what stands from `start` to `end`. */
  replace(start: number, end: number, written: Uint8Array): void {
    this.end(start, end);
    for (const { output } of this.active) output.bytes(written);
  }
}
