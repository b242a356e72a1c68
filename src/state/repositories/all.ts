import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import { auditHead, auditKeys, insertAuditKey, keepAuditHead } from './audit.ts';
import { addAuditRecord, deleteAuditRecords, listAuditRecords } from './audit-outbox.ts';
import { addClient, listClients, registerClient, revokeClient } from './clients.ts';
import { giveBackAttempt, recordFailure, recordSuccess, reserveAttempt } from './attempts.ts';
import {
  addAnswerPart,
  claimAnswer,
  deleteEndedAnswers,
  deleteLooseParts,
  endAllClaims,
  findAnswerPart,
  keepAnswer,
  releaseClaim,
  renewClaims,
} from './kept-answers.ts';
import { announce, finishStep, journal, takeOverStep, takeOverSteps } from './key-journal.ts';
import { findKey, insertKey, listKeys, markRemoved } from './keys.ts';
import { probe } from './probe.ts';
import { findServiceKey, takeServiceKey } from './service-keys.ts';

/** Every operation on the state store. Each runs whole, in a transaction, where the database is. */
export const repositories = {
  auditHead,
  auditKeys,
  insertAuditKey,
  keepAuditHead,
  addAuditRecord,
  deleteAuditRecords,
  listAuditRecords,
  addClient,
  listClients,
  registerClient,
  addAnswerPart,
  revokeClient,
  announce,
  claimAnswer,
  deleteEndedAnswers,
  deleteLooseParts,
  endAllClaims,
  findAnswerPart,
  findKey,
  findServiceKey,
  finishStep,
  giveBackAttempt,
  insertKey,
  journal,
  keepAnswer,
  listKeys,
  markRemoved,
  probe,
  recordFailure,
  recordSuccess,
  releaseClaim,
  renewClaims,
  reserveAttempt,
  takeOverStep,
  takeOverSteps,
  takeServiceKey,
};

export type RepositoryName = keyof typeof repositories;

/** Those of one statement that change nothing: they need no transaction, and wait for no commit. */
export const readOnlyOperations: ReadonlySet<RepositoryName> = new Set<RepositoryName>([
  'findAnswerPart',
  'findKey',
  'journal',
  'listAuditRecords',
  'listClients',
  'listKeys',
]);

/** A repository operation as callers see it: its argument, and its answer. */
export type RepositoryArgument<N extends RepositoryName> = (typeof repositories)[N] extends (db: Transaction<Schema>) => unknown
  ? undefined
  : Parameters<(typeof repositories)[N]>[1];
export type RepositoryResult<N extends RepositoryName> = Awaited<ReturnType<(typeof repositories)[N]>>;
