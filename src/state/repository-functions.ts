import type { Transaction } from 'kysely';
import * as repositories from './repositories/all.ts';
import type { Schema } from './schema.ts';

/** The operations by name. */
export const operations = { ...repositories };

export type RepositoryName = keyof typeof operations;

/** Operations of one read-only statement: they need no transaction, and wait for no commit. */
export const readOnlyOperations: ReadonlySet<RepositoryName> = new Set<RepositoryName>([
  'allKeptBytes',
  'countKeys',
  'countOpenData',
  'countUnsealedKeys',
  'crlState',
  'findCertificate',
  'findAnswerPart',
  'findIssuingChain',
  'findKey',
  'findSecretPaces',
  'isIdentityTokenUsed',
  'findSession',
  'findSessionPart',
  'journal',
  'listAuditRecords',
  'listClients',
  'listRevokedClients',
  'ocspResponders',
  'serialStatuses',
  'sessionShares',
  'publishedCrl',
  'poolKeys',
  'poolLevels',
  'listKeys',
  'duePublications',
  'findPublication',
  'findTransfer',
  'knownTransfers',
  'transferShares',
]);

/** Argument of a repository operation, as callers see it. */
export type RepositoryArgument<N extends RepositoryName> = (typeof operations)[N] extends (db: Transaction<Schema>) => unknown
  ? undefined
  : Parameters<(typeof operations)[N]>[1];
export type RepositoryResult<N extends RepositoryName> = Awaited<ReturnType<(typeof operations)[N]>>;
