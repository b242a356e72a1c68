import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf, parametersOf, type CadesCombination } from './cades-matrix.ts';
import { coveringProperties } from './covering-properties.ts';
import { levelFields, levels } from './levels.ts';
import type { Sample } from './signatures.ts';
import type { KeyType, SigningService } from './signing-service.ts';

const document = Buffer.from('Lu et approuvé\n');

export async function makeCades(service: SigningService, directory: string, combination: CadesCombination): Promise<Sample[]> {
  const { keyType, content, properties, level } = combination;
  const signature = await service.sign(keyType, parametersOf(combination), [{ bytes: document }]);
  const file = join(directory, `${nameOf(combination)}${content === 'detached' ? '.p7s' : '.p7m'}`);
  writeFileSync(file, signature);
  const signed = join(directory, 'document.txt');
  writeFileSync(signed, document);
  const claimed = properties === 'no-time' ? {} : { require: level };
  return [{ request: { file, ...(content === 'detached' ? { content: [signed] } : {}), trust: service.trust, ...claimed } }];
}

/** One signer after the other, at levels that rise. */
export async function makeCoSignatures(service: SigningService, directory: string, type: KeyType): Promise<Sample[]> {
  let bytes = document;
  const made: Sample[] = [];
  for (const [index, level] of levels.entries()) {
    const XP7Signature = {
      XP7Format: 'CXP_7',
      ...(index === 0 ? {} : { validateSignatures: index % 2 === 1 }),
      ...levelFields(level),
      ...(index === 2 ? { signedProperties: coveringProperties['everything'] } : {}),
      XP7Providers: { CXP7Parameters: { detached: false } },
    };
    bytes = await service.sign(type, { XP7Signature }, [{ bytes }]);
    const file = join(directory, `co-signed-${type}-${index + 1}.p7m`);
    writeFileSync(file, bytes);
    // The level of a file is that of its lowest signature.
    made.push({ request: { file, trust: service.trust, require: 'B' } });
  }
  return made;
}
