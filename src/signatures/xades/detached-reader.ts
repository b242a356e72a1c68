import { contentPieces } from '../../documents/content.ts';
import type { DetachedState } from './detached.ts';
import { signatureFile } from './detached.ts';
import type { FormReader } from './level-writer.ts';
import { xmlInput, parsedXml } from './xml-input.ts';

/** Reads detached signatures. The file with the signature is the one that the container has. */
export const detachedReader: FormReader<DetachedState> = {
  document: (_evidence, { prepared: { state }, value, additions }) => signatureFile(state, value, additions),

  outside:
    ({ prepared: { state, contents } }) =>
    ({ uri, transforms }) => {
      const content = contents[state.files.findIndex(({ reference }) => reference.uri === uri)];
      if (content === undefined) throw new Error('the signed content is missing');
      const [transform] = transforms;
      if (transform?.kind !== 'CANONICAL') return contentPieces(content);
      using document = parsedXml(xmlInput(content).bytes);
      return [document.canonical({ algorithm: transform.algorithm })];
    },
};
