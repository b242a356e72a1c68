import { TwoDDocConfig } from '../config/two-d-doc-config.ts';
import type { Config } from '../config/config.ts';
import { moduleFile } from '../config/module-file.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';
import { joinCode } from './code/code.ts';
import type { ZoneCurve } from './code/curves.ts';
import { pictureOf, type PictureFile, type PictureOptions } from './picture/picture.ts';
import { refusing } from './two-d-doc-fault.ts';
import { checkFits, symbolOf, type Encodation } from './symbol/symbol.ts';

/** What the configuration says of the pictures of a tenant. */
export type PictureSettings = Pick<TwoDDocConfig, 'modulePixels' | 'dpi' | 'quietZoneModules' | 'encodation'>;

/** What a request says of its picture. */
export type PictureWish = Pick<PictureOptions, 'format' | 'text' | 'position'>;

const usualSettings: PictureSettings = TwoDDocConfig.parse({});

/** Returns the settings of a tenant. */
export function pictureSettings({ tenants }: Pick<Config, 'tenants'>, tenant: string): PictureSettings {
  const { modulePixels, dpi, quietZoneModules, encodation } = tenants[tenant]?.twoDDoc ?? usualSettings;
  return { modulePixels, dpi, quietZoneModules, encodation };
}

/**
 * Draws a code.
 * @throws {TwoDDocFault} if it is too large for a symbol, or the text cannot be drawn
 */
export function codePicture(code: Uint8Array, wish: PictureWish, { encodation, ...settings }: PictureSettings): PictureFile {
  return pictureOf(symbolOf(code, encodation), { ...wish, ...settings });
}

/**
 * Draws a code and forgets it, so that no request waits for the font, and for bwip-js if
 * `encodation` needs it: about 0.1 s.
 */
export function warmUp(encodation: Encodation = 'C40'): void {
  for (const format of ['PNG', 'TIFF'] as const)
    codePicture(Buffer.from('DC04'), { format, text: '2D-DOC', position: 'BOTTOM' }, { ...usualSettings, encodation });
}

/** Pictures with modules of more pixels take up to 0.2 s, others some milliseconds. */
const quickMaxModulePixels = 6;

/** Whether drawing a code takes too long for the event loop. */
export function takesLongToDraw({ modulePixels, encodation }: PictureSettings): boolean {
  return modulePixels > quickMaxModulePixels || encodation === 'MIXED';
}

/** A code to be drawn. Can be cloned into a thread. */
interface PictureTask {
  readonly code: Uint8Array;
  readonly wish: PictureWish;
  readonly settings: PictureSettings;
  /** JSON Pointer for a refusal. */
  readonly at: string;
}

const thread: ThreadFunction = { module: moduleFile('./code-picture', import.meta.url), name: 'pictureTask', lane: 'hashing' };

/**
 * Draws a code, in a thread if it takes long.
 * @throws {Refusal} DOCUMENT_INVALID if it is too large for a symbol
 */
export async function drawnCode(task: PictureTask, threads: Pick<WorkThreads, 'run'>): Promise<PictureFile> {
  return takesLongToDraw(task.settings) ? threads.run<PictureFile>(thread, task) : pictureTask(task);
}

/** Draws a code. Also runs in a work thread. @throws {Refusal} DOCUMENT_INVALID */
export function pictureTask({ code, wish, settings, at }: PictureTask): PictureFile {
  return refusing(at, () => codePicture(code, wish, settings));
}

/**
 * Checks, before a zone is signed, that its code fits into a symbol: how much room a signature
 * takes does not depend on its value.
 * @throws {TwoDDocFault}
 */
export function checkRoom(zone: Uint8Array, curve: ZoneCurve, annex?: Uint8Array): void {
  checkFits(joinCode(zone, new Uint8Array(curve.signatureBytes), annex));
}
