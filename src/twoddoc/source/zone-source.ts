import type { ZoneField } from '../zone/parse-zone.ts';
import type { ZoneVersion } from '../zone/header.ts';

/** A source of a zone, which breaks no rule of its type. Days are written as 2012-11-15. */
export interface ZoneSource {
  readonly version: Exclude<ZoneVersion, '01'>;
  /** Code of the document type. */
  readonly type: string;
  readonly header: SourceHeader;
  /** In the order of the zone, with the values as they are there. */
  readonly fields: readonly ZoneField[];
  /** Fields that follow the signature. */
  readonly annex: readonly ZoneField[];
}

/**
 * Members that are absent are those of the digital identity, today and FR. An undated document has
 * no `issueDate`.
 */
export interface SourceHeader {
  readonly ca?: string;
  readonly certificate?: string;
  readonly issueDate?: string;
  readonly signatureDate?: string;
  readonly country?: string;
}
