import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import { auditHead, auditKeys, insertAuditKey, keepAuditHead } from './audit.ts';
import { addAuditRecord, deleteAuditRecords, listAuditRecords } from './audit-outbox.ts';
import { listClients, registerClient } from './clients.ts';
import { announce, clearFailures, findKey, finishStep, insertKey, journal, markRemoved, recordFailure } from './keys.ts';
import { probe } from './probe.ts';

/** Every operation on the state store. Each runs whole, in a transaction, where the database is. */
export const repositories = {
  auditHead,
  auditKeys,
  insertAuditKey,
  keepAuditHead,
  addAuditRecord,
  deleteAuditRecords,
  listAuditRecords,
  listClients,
  registerClient,
  announce,
  clearFailures,
  findKey,
  finishStep,
  insertKey,
  journal,
  markRemoved,
  probe,
  recordFailure,
};

export type RepositoryName = keyof typeof repositories;
/** A repository operation as callers see it: its argument, and its answer. */
export type RepositoryArgument<N extends RepositoryName> = (typeof repositories)[N] extends (db: Transaction<Schema>) => unknown
  ? undefined
  : Parameters<(typeof repositories)[N]>[1];
export type RepositoryResult<N extends RepositoryName> = Awaited<ReturnType<(typeof repositories)[N]>>;
