import { isArray, isInteger, isName, PdfDictionary, type PdfObject } from '../../pdf/objects.ts';
import type { PdfFile } from '../../pdf/pdf-file.ts';
import { textOf } from '../../pdf/text-string.ts';
import type { PadesParameters } from './pades-state.ts';
import { reasonOf, subFilterOf } from './signature-dictionary.ts';

/** Bits of Ff: constraints that are required (ISO 32000-2, 12.7.5.5, table 237). */
const required = { filter: 1, subFilter: 2, reasons: 8, legalAttestation: 16, revocation: 32, digest: 64, lock: 128 } as const;

/**
 * Returns what the seed value of a field demands and the signature has not; undefined if there is
 * nothing.
 */
export function unmetDemand(file: PdfFile, field: PdfDictionary, parameters: PadesParameters): string | undefined {
  const seed = file.get(field, 'SV');
  if (!(seed instanceof PdfDictionary)) return undefined;
  return demandsOf(file, seed, parameters).find(({ isMet }) => !isMet)?.name;
}

interface Demand {
  readonly name: string;
  readonly isMet: boolean;
}

function demandsOf(file: PdfFile, seed: PdfDictionary, parameters: PadesParameters): readonly Demand[] {
  const flags = file.get(seed, 'Ff');
  const isRequired = (bit: number): boolean => isInteger(flags) && (flags & bit) !== 0;
  const listed = (key: string): readonly PdfObject[] => {
    const list = file.get(seed, key);
    return isArray(list) ? list.map((one) => file.resolved(one)) : [];
  };
  const { algorithm, certifies, level, locksDocument, properties } = parameters;
  const reasons = listed('Reasons').flatMap((one) => textOf(one) ?? []);
  const reason = reasonOf(properties);
  const hash = algorithm.hash.toUpperCase();
  return [
    { name: 'another filter', isMet: !isRequired(required.filter) || isName(file.get(seed, 'Filter'), 'Adobe.PPKLite') },
    {
      name: 'another signatureFormat',
      isMet: !isRequired(required.subFilter) || listed('SubFilter').some((one) => isName(one, subFilterOf(parameters))),
    },
    { name: 'another digestAlgorithm', isMet: !isRequired(required.digest) || listed('DigestMethod').some((one) => textOf(one) === hash) },
    {
      name: 'one of certain reasons, or none',
      isMet:
        !isRequired(required.reasons) || (reason === undefined ? reasons.join() === '.' || reasons.length === 0 : reasons.includes(reason)),
    },
    { name: 'a legal attestation', isMet: !isRequired(required.legalAttestation) },
    { name: 'revocation data in the signature', isMet: !isRequired(required.revocation) || file.get(seed, 'AddRevInfo') !== true },
    { name: 'documentLock', isMet: !isRequired(required.lock) || locksDocument || !isName(file.get(seed, 'LockDocument'), 'true') },
    { name: 'a certain certificate', isMet: !hasFlags(file, seed, 'Cert') },
    { name: 'a timeStamp', isMet: level !== 'B' || !hasFlags(file, seed, 'TimeStamp') },
    { name: 'another docMDPLevel', isMet: isLevelMet(file, seed, locksDocument ? 1 : certifies) },
  ];
}

function hasFlags(file: PdfFile, seed: PdfDictionary, key: string): boolean {
  const constraints = file.get(seed, key);
  const flags = constraints instanceof PdfDictionary ? file.get(constraints, 'Ff') : 0;
  return isInteger(flags) && flags !== 0;
}

/**
 * MDP (table 237): 0 for an approval signature, otherwise the level of a certification signature.
 */
function isLevelMet(file: PdfFile, seed: PdfDictionary, level: number | undefined): boolean {
  const wanted = file.get(seed, 'MDP');
  const value = wanted instanceof PdfDictionary ? file.get(wanted, 'P') : null;
  return !isInteger(value) || value === (level ?? 0);
}
