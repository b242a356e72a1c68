/** Functions that the tests of broken engines run in threads. */
import { engine, offsets, type Engine } from '../../src/xml/engine.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';

let broken: Engine | undefined;

/** Has the engine read behind its memory, as it does when a stack has overwritten its pointers. */
export function breakEngine(): void {
  broken = engine();
  using document = XmlDocument.parse(Buffer.from('<a><b/></a>'));
  const child = broken.get(document.root, offsets.children);
  broken.set(document.root, offsets.children, 0x7fff_fff0);
  try {
    document.canonical({ algorithm: 'C14N' });
  } finally {
    broken.set(document.root, offsets.children, child);
  }
}

/** Returns the canonical form of a text, and whether another engine made it than the one that broke. */
export function canonicalForm({ text }: { readonly text: string }): readonly [string, boolean] {
  using document = XmlDocument.parse(Buffer.from(text));
  return [document.canonical({ algorithm: 'C14N' }).toString(), engine() !== broken];
}
