import { coveringProperties } from './covering-properties.ts';

/** What CAdES signatures differ in. RSAVersion counts for RSA keys alone. */
export const factors = {
  detached: [true, false],
  level: ['B', 'T', 'LT', 'LTA'],
  keyType: ['RSA-2048', 'RSA-4096', 'P-256', 'P-384', 'P-521'],
  digestAlgorithm: ['SHA_256', 'SHA_384', 'SHA_512'],
  RSAVersion: ['PKCS_1_1_5', 'PKCS_1_2_1', undefined],
  properties: ['none', ...Object.keys(coveringProperties)],
} as const;

type Factors = typeof factors;
export type Combination = { readonly [Name in keyof Factors]: Factors[Name][number] };

/** Every signature that can be asked for. */
export function allCombinations(): Combination[] {
  const { detached, level, keyType, digestAlgorithm, RSAVersion, properties } = factors;
  const all: Combination[] = [];
  for (const one of detached)
    for (const two of level)
      for (const three of keyType)
        for (const four of digestAlgorithm)
          for (const five of RSAVersion)
            for (const six of properties)
              all.push({ detached: one, level: two, keyType: three, digestAlgorithm: four, RSAVersion: five, properties: six });
  return all.filter(({ keyType: type, RSAVersion: version }) => type.startsWith('RSA-') === (version !== undefined));
}

/** Fewer, in which every pair of values that can stand together does: the one that has most pairs not seen yet comes next. */
export function coveringPairs(all: readonly Combination[] = allCombinations()): Combination[] {
  const pairsOf = new Map(all.map((combination) => [combination, pairs(combination)]));
  const missing = new Set([...pairsOf.values()].flat());
  const chosen: Combination[] = [];
  while (missing.size > 0) {
    let best: Combination | undefined;
    let bestCount = 0;
    for (const [combination, own] of pairsOf) {
      const count = own.reduce((sum, pair) => sum + (missing.has(pair) ? 1 : 0), 0);
      if (count <= bestCount) continue;
      best = combination;
      bestCount = count;
    }
    if (best === undefined) throw new Error('every pair stands in a combination');
    chosen.push(best);
    for (const pair of pairs(best)) missing.delete(pair);
  }
  return chosen;
}

function pairs(combination: Combination): string[] {
  const values = Object.entries(combination).map(([name, value]) => `${name}=${String(value)}`);
  return values.flatMap((first, index) => values.slice(index + 1).map((second) => `${first} ${second}`));
}

export function nameOf({ detached, level, keyType, digestAlgorithm, RSAVersion, properties }: Combination): string {
  return [level, detached ? 'detached' : 'attached', keyType, digestAlgorithm, RSAVersion ?? 'ECDSA', properties].join('-');
}

/** `parameters` of `sign`. */
export function parametersOf({ detached, level, digestAlgorithm, RSAVersion, properties }: Combination): object {
  const signedProperties = coveringProperties[properties];
  return {
    XP7Signature: {
      XP7Format: 'CXP_7',
      digestAlgorithm,
      ...(RSAVersion === undefined ? {} : { RSAVersion }),
      ...(signedProperties === undefined ? {} : { signedProperties }),
      ...levelFields(level),
      XP7Providers: { CXP7Parameters: { detached } },
    },
  };
}

export function levelFields(level: Combination['level']): object {
  if (level === 'B') return {};
  if (level === 'T') return { timeStamp: {} };
  return { timeStamp: {}, longTermValidation: { archiveTimeStamp: level === 'LTA' } };
}
