/**
 * Arguments of Node for the daemon; signetd.service passes the same. By default, V8 gives new objects
 * up to 96 MiB, and lets the heap grow to several times what is in use before it collects the old
 * ones. With half of both, a signature costs no more processor time, and the memory stays below
 * 300 MiB; with a quarter, it costs up to a fifth more.
 */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=16', '--heap-growing-percent=100'];
