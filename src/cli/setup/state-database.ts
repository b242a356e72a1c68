import { StateConfig, withServiceUser, type PostgresqlConfig } from '../../config/state-config.ts';
import { databaseContents } from '../../state/snapshot/postgresql-restore.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { places, users } from './places.ts';
import type { Answers } from './question.ts';

type StateAnswers = Pick<Answers, 'state' | 'stateHost' | 'stateDatabase' | 'stateUser'>;

/** Whether the state is kept in PostgreSQL; a setup that an earlier version began has no answer. */
export function isPostgresql({ state }: Pick<Answers, 'state'>): boolean {
  return state === 'postgresql';
}

/** Returns the section `state` of the configuration. */
export function stateSection({ stateHost, stateDatabase, stateUser }: StateAnswers): object {
  return { kind: 'postgresql', host: stateHost, database: stateDatabase, user: stateUser };
}

/**
 * Checks that the service will reach the database, and that the database is empty.
 * @throws {CommandError}
 */
export async function checkDatabase(answers: StateAnswers): Promise<void> {
  if (!isPostgresql(answers)) return;
  const config = withServiceUser(StateConfig.parse(stateSection(answers)), users.service, places.state);
  // As the section says.
  const { tables } = await contentsOf(config as PostgresqlConfig, answers);
  if (tables.length === 0) return;
  throw new CommandError(
    exitCodes.refused,
    `the database "${answers.stateDatabase}" is not empty (${tables.slice(0, 3).join(', ')}): setup is for new installations`,
  );
}

async function contentsOf(
  config: PostgresqlConfig,
  { stateHost, stateDatabase, stateUser }: StateAnswers,
): ReturnType<typeof databaseContents> {
  try {
    return await databaseContents(config);
  } catch (error) {
    const advice = `make them first: runuser -u postgres -- createuser ${stateUser}; runuser -u postgres -- createdb --owner ${stateUser} ${stateDatabase}`;
    throw new CommandError(
      exitCodes.refused,
      `the user ${users.service} cannot use the database "${stateDatabase}" at ${stateHost}: ${reasonOf(error)}\n${advice}`,
    );
  }
}
