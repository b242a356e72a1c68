import type { Migration, MigrationProvider } from 'kysely/migration';
import * as first from './0001-first.ts';
import * as auditOutbox from './0002-audit-outbox.ts';
import * as severalInstances from './0003-several-instances.ts';
import * as keptAnswers from './0004-kept-answers.ts';
import * as activation from './0005-activation.ts';
import * as keyPool from './0006-key-pool.ts';
import * as audit from './0010-audit.ts';
import * as revocation from './0011-revocation.ts';
import * as tokenKeys from './0012-token-keys.ts';
import * as limitsOfKeys from './0013-limits-of-keys.ts';
import * as ocsp from './0014-ocsp.ts';
import * as tokensAndIssuers from './0015-tokens-and-issuers.ts';
import * as keptBytes from './0016-kept-bytes.ts';
import * as transferFiles from './0018-transfer-files.ts';
import * as signatureSessions from './0019-signature-sessions.ts';
import * as keysByTenant from './0020-keys-by-tenant.ts';
import * as recordSeals from './0021-record-seals.ts';
import * as publications from './0022-publications.ts';
import * as identityKeys from './0023-identity-keys.ts';
import * as clientCertificateEnds from './0024-client-certificate-ends.ts';
import * as activationData from './0025-activation-data.ts';
import * as secretPaces from './0026-secret-paces.ts';
import * as macKeyGenerations from './0030-mac-key-generations.ts';
import * as revokedClients from './0031-revoked-clients.ts';
import * as clientCertificates from './0032-client-certificates.ts';
import * as sealingKeys from './0033-sealing-keys.ts';

/** All migrations, oldest first. There are no down migrations. */
const migrations: Record<string, Migration> = {
  '0001-first': first,
  '0002-audit-outbox': auditOutbox,
  '0003-several-instances': severalInstances,
  '0004-kept-answers': keptAnswers,
  '0005-activation': activation,
  '0006-key-pool': keyPool,
  '0010-audit': audit,
  '0011-revocation': revocation,
  '0012-token-keys': tokenKeys,
  '0013-limits-of-keys': limitsOfKeys,
  '0014-ocsp': ocsp,
  '0015-tokens-and-issuers': tokensAndIssuers,
  '0016-kept-bytes': keptBytes,
  '0018-transfer-files': transferFiles,
  '0019-signature-sessions': signatureSessions,
  '0020-keys-by-tenant': keysByTenant,
  '0021-record-seals': recordSeals,
  '0022-publications': publications,
  '0023-identity-keys': identityKeys,
  '0024-client-certificate-ends': clientCertificateEnds,
  '0025-activation-data': activationData,
  '0026-secret-paces': secretPaces,
  '0030-mac-key-generations': macKeyGenerations,
  '0031-revoked-clients': revokedClients,
  '0032-client-certificates': clientCertificates,
  '0033-sealing-keys': sealingKeys,
};

export const migrationProvider: MigrationProvider = { getMigrations: async () => Promise.resolve(migrations) };
