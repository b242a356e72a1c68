/**
 * Arguments of Node for every process of the service. SIGUSR1 would open the inspector, through
 * which any user of the machine reads and changes everything in the memory of the process.
 */
export const processFlags: readonly string[] = ['--disable-sigusr1'];

/**
 * Arguments of Node for the daemon; signetd.service passes the same. By default, V8 gives new objects
 * up to 96 MiB, and lets the heap grow to several times what is in use before it collects the old
 * ones. With half of both, a signature costs no more processor time, and the memory stays below
 * 300 MiB; with a quarter, it costs up to a fifth more.
 */
export const nodeFlags: readonly string[] = [...processFlags, '--max-semi-space-size=16', '--heap-growing-percent=100'];
