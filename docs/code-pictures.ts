import { readFileSync, writeFileSync } from 'node:fs';
import { codePicture, pictureSettings, type PictureWish } from '../src/twoddoc/code-picture.ts';
import { joinCode } from '../src/twoddoc/code/code.ts';
import { readSource } from '../src/twoddoc/source/read-source.ts';
import { zoneOf } from '../src/twoddoc/zone/zone-of.ts';
import { softwareSigner, valueOf } from '../test/signatures/software-signer.ts';

/** Text and side of each picture of docs/2d-doc.md, by the name of its file. */
const wishes: Readonly<Record<string, Omit<PictureWish, 'format'>>> = {
  bill: { text: '2D-DOC', position: 'BOTTOM' },
  'text-top': { text: '2D-DOC', position: 'TOP' },
  'text-right': { text: '2D-DOC', position: 'RIGHT' },
  'text-bottom': { text: '2D-DOC', position: 'BOTTOM' },
  'text-left': { text: '2D-DOC', position: 'LEFT' },
};

/** Makes the pictures of docs/2d-doc.md from its bill, with the settings that a tenant has by default. */
export function makeCodePictures(today: Date): void {
  const page = readFileSync(new URL('2d-doc.md', import.meta.url), 'utf8');
  const [, source] = /^cat >bill\.xml <<'END'\n([^]*?)^END$/m.exec(page) ?? [];
  if (source === undefined) throw new Error('the page has the source of a bill');
  const zone = zoneOf(readSource(Buffer.from(source)), { ca: 'FR00', certificate: '0001', today });
  const code = joinCode(zone, valueOf(softwareSigner('0001'), { dataToSign: zone }));
  for (const [name, wish] of Object.entries(wishes)) {
    const { content } = codePicture(code, { format: 'PNG', ...wish }, pictureSettings({ tenants: {} }, ''));
    writeFileSync(new URL(`images/2d-doc/${name}.png`, import.meta.url), content);
    process.stdout.write(`docs/images/2d-doc/${name}.png\n`);
  }
}
