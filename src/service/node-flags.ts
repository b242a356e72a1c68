/**
 * Arguments of Node for the daemon; signetd.service passes the same. By default, V8 gives new
 * objects up to 96 MiB and lets garbage grow to several times what is in use. With less of both,
 * garbage collection takes the same processor time, in more and shorter pauses.
 */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=8', '--heap-growing-percent=50'];
