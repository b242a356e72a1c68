type Environment = Record<string, string | undefined>;

/** SD_LISTEN_FDS_START of sd_listen_fds(3). */
const firstDescriptor = 3;
const descriptorsMax = 64;

/**
 * Returns the sockets that the service manager opened for this process (sd_listen_fds(3)), by name
 * (FileDescriptorName= of the socket unit). Empty if there are none, or they are for another
 * process. The variables are removed from the environment.
 * @throws {Error} if the variables are not as expected: the service then listens nowhere rather
 *   than in the wrong place
 */
export function listenFds(environment: Environment, pid: number, names: readonly string[]): ReadonlyMap<string, number> {
  const { LISTEN_PID: forPid, LISTEN_FDS: count, LISTEN_FDNAMES: given } = environment;
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID']) Reflect.deleteProperty(environment, name);
  if (count === undefined || forPid !== String(pid)) return new Map();
  const number = /^\d{1,3}$/.test(count) ? Number(count) : NaN;
  if (!(number <= descriptorsMax)) throw new Error(`LISTEN_FDS is "${count}"; it must be a number from 0 to ${descriptorsMax}`);
  if (number === 0) return new Map();
  const listed = (given ?? '').split(':');
  if (given === undefined || listed.length !== number) {
    throw new Error(
      `LISTEN_FDNAMES names ${given === undefined ? 0 : listed.length} of ${number} sockets; each socket unit must set FileDescriptorName=`,
    );
  }
  const sockets = new Map<string, number>();
  for (const [index, name] of listed.entries()) {
    if (!names.includes(name)) {
      const places = names.map((known) => `listeners.${known}`).join(', ');
      throw new Error(`a socket is named "${name}", but the configuration has only ${places}: disable the socket unit, or configure it`);
    }
    if (sockets.has(name)) throw new Error(`two sockets are named "${name}"; the socket unit must have a single ListenStream=`);
    sockets.set(name, firstDescriptor + index);
  }
  return sockets;
}
