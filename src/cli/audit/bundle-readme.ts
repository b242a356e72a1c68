import type { BundlePlan } from '../../audit/bundle.ts';
import { keyDigest } from '../../audit/checkpoint.ts';

/** Returns the README.txt of a bundle: how to verify it, also without signetd. */
export function bundleReadme({ log, files, publicKeys }: BundlePlan, version: string): string {
  return `This archive has files of the audit log "${log}" of signetd ${version}: ${files[0]?.file.name ?? ''} to
${files.at(-1)?.file.name ?? ''}, and the public keys that verify their checkpoints.

To verify it, on any machine with signetctl:

  signetctl audit verify --bundle THIS-FILE --key-sha256 SHA256 --known RECORD:HASH

SHA256 names the key of the checkpoints, which is generated on the token and never leaves it. Take it from
where you noted it, not from this archive, which cannot vouch for its own keys. RECORD:HASH is the last
record, as signetctl printed it when it made this archive; without it, nothing shows that no records were
cut off from the end.

The keys in this archive:
${publicKeys.map((key) => `  ${keyDigest(key)}\n`).join('')}
To verify it without signetd:

- Each line of a file is one record, in JSON. "previous" is the SHA-256 of the line before it, without its
  line feed, also across files.
- In a record with "kind":"checkpoint", "signature" (base64) is an ECDSA signature with SHA-256 over the
  five lines below, each with a line feed, with the values of "checkpoint". "hash" is that of the line of
  the record whose number is "records".

    signetd audit checkpoint v1
    log: LOG
    records: RECORDS
    hash: HASH
    time: TIME

- Each file begins with a record with "kind":"open", whose "publicKey" is the key of its checkpoints. If
  another key came before, "succession" says so: "signature" is that of the key "former" over the four lines
  below, each with a line feed. FORMER and NEW are the SHA-256 of the two keys.

    signetd audit key v1
    former: FORMER
    new: NEW
    time: TIME

  openssl dgst -sha256 -verify keys/SHA256.pem -signature value.der text
`;
}
