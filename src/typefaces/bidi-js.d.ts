/**
 * The module of the package, whose own declarations describe it as CommonJS with a default export.
 */
declare module 'bidi-js/dist/bidi.mjs' {
  import type { Bidi } from 'bidi-js';
  export default function bidiFactory(): Bidi;
}
