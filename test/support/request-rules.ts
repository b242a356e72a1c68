import type { RequestRules } from '../../src/signatures/format-entry.ts';

/** Rules of a tenant with the usual configuration, which may connect to any URL. */
export const requestRules: RequestRules = {
  allowSha1: false,
  locale: { language: 'en', timeZone: 'UTC' },
  picture: { modulePixels: 5, dpi: 300, quietZoneModules: 1, encodation: 'C40' },
  checkUrl: () => undefined,
};
