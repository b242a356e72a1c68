import type { PictureOptions } from '../../src/twoddoc/picture/picture.ts';

/** Options of a picture for which neither request nor configuration says anything: modules of 0.42 mm. */
export const usualPicture: PictureOptions = {
  ...{ format: 'PNG', text: '2D-DOC', position: 'BOTTOM', modulePixels: 5, dpi: 300, quietZoneModules: 1 },
};
