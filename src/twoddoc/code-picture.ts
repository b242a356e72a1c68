import { TwoDDocConfig } from '../config/two-d-doc-config.ts';
import type { Config } from '../config/config.ts';
import { joinCode } from './code/code.ts';
import type { ZoneCurve } from './code/curves.ts';
import { pictureOf, type PictureFile, type PictureOptions } from './picture/picture.ts';
import { symbolOf } from './symbol/symbol.ts';

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
 * Checks, before a zone is signed, that its code fits into a symbol: how much room a signature
 * takes does not depend on its value.
 * @throws {TwoDDocFault}
 */
export function checkRoom(zone: Uint8Array, curve: ZoneCurve, annex?: Uint8Array): void {
  symbolOf(joinCode(zone, new Uint8Array(curve.signatureBytes), annex));
}
