import { Refusal } from '../../result-codes.ts';
import type { LevelWriter } from '../levels/level-writer.ts';
import type { XadesState } from './xades-state.ts';

/** Levels of XAdES baseline signatures (EN 319 132-1 §6.3). */
export const xadesLevels: LevelWriter<XadesState> = {
  stampedBytes: ({ state: { valueTag } }, value) => Buffer.from(`${valueTag}${Buffer.from(value).toString('base64')}</ds:SignatureValue>`),
  archive: async () => {
    throw new Refusal('UNSUPPORTED');
  },
  levelOf: () => 'T',
};
