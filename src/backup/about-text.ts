/** The first file of a backup: how to use it without signetd. */
export const aboutText = `This is a backup of signetd, a signing daemon. Its private keys are not in it: they are on
the token (HSM), which has a backup of its own.

signetctl backup verify and signetctl backup restore read the encrypted file. By hand, age
decrypts it and tar unpacks it:

  age --decrypt --identity KEYFILE BACKUP | tar --extract

manifest.json      what the backup holds: the path, owner, size and SHA-256 of each file
configuration/     the configuration and the files that it names, without secrets
state/             the state store: an SQLite database, or a PostgreSQL dump in pieces:
                   cat state/postgresql.dump.* | pg_restore --dbname=NAME
audit/             the audit log up to the moment of the state
account/           the token host's account of uses of keys up to the same moment
transfer/          the file transfer store, if it was asked for
token-keys.jsonl   the keys on the token that the state refers to, by CKA_ID

State, audit log and account belong together: restore all three, or only the state if a
later audit log is still there.
`;
