import type { DerElement } from '../asn1/reader.ts';

/**
 * Returns the text of a DirectoryString or IA5String; undefined if it cannot be decoded reliably
 * (TeletexString, other types, invalid UTF-8).
 */
export function stringValue({ tag, content }: DerElement): string | undefined {
  switch (tag) {
    case 0x0c:
      return decoded('utf-8', content);
    case 0x12: // NumericString
    case 0x13: // PrintableString
    case 0x16: // IA5String
      return content.every((octet) => octet < 0x80) ? Buffer.from(content).toString('latin1') : undefined;
    case 0x1e: // BMPString
      return decoded('utf-16be', content);
    default:
      return undefined;
  }
}

function decoded(encoding: 'utf-8' | 'utf-16be', content: Uint8Array): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(content);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
