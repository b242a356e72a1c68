import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import type { QcStatements } from '../config/profile.ts';
import { extension, type Extension } from './standard-extensions.ts';

const typeOids = { esign: oids.qcTypeEsign, eseal: oids.qcTypeEseal, web: oids.qcTypeWeb } as const;
const semanticsOids = { natural: oids.semanticsNatural, legal: oids.semanticsLegal } as const;

/**
 * Returns qcStatements (RFC 3739 §3.2.6) with the statements of ETSI EN 319 412-5 §4.2 and §4.3;
 * nothing if none is set.
 */
export function qcStatements(statements: QcStatements | undefined): Extension[] {
  if (statements === undefined) return [];
  const { compliance, sscd, types, retentionYears, limitValue, disclosureStatements, legislationCountries, semantics } = statements;
  const list = [
    ...(semantics === undefined ? [] : [statement(oids.qcSyntaxV2, der.sequence(der.oid(semanticsOids[semantics])))]),
    ...(compliance ? [statement(oids.qcCompliance)] : []),
    ...(limitValue === undefined
      ? []
      : [
          statement(
            oids.qcLimitValue,
            der.sequence(der.printableString(limitValue.currency), der.integer(limitValue.amount), der.integer(limitValue.exponent)),
          ),
        ]),
    ...(retentionYears === undefined ? [] : [statement(oids.qcRetentionPeriod, der.integer(retentionYears))]),
    ...(sscd ? [statement(oids.qcSscd)] : []),
    ...(disclosureStatements.length === 0
      ? []
      : [
          statement(
            oids.qcPds,
            der.sequence(
              ...disclosureStatements.map(({ url, language }) => der.sequence(der.ia5String(url), der.printableString(language))),
            ),
          ),
        ]),
    ...(types.length === 0 ? [] : [statement(oids.qcType, der.sequence(...types.map((type) => der.oid(typeOids[type]))))]),
    ...(legislationCountries.length === 0
      ? []
      : [statement(oids.qcLegislation, der.sequence(...legislationCountries.map((country) => der.printableString(country))))]),
  ];
  return list.length === 0 ? [] : [extension(oids.qcStatements, der.sequence(...list))];
}

function statement(oid: string, information?: Uint8Array): Uint8Array {
  return der.sequence(der.oid(oid), ...(information === undefined ? [] : [information]));
}
