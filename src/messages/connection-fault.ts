/** Error codes of Node and the mail client, such as ECONNREFUSED. */
const faultName = /\bE[A-Z_]{3,30}\b/;

/**
 * Returns why a gateway could not be reached, for a caller, without names and addresses inside the
 * operator's network. The log has the details.
 */
export function connectionFault(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  if (/certificate|altnames/i.test(text)) return "the gateway's certificate is not trusted";
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  const name = faultName.exec(text)?.[0] ?? (typeof code === 'string' ? faultName.exec(code)?.[0] : undefined);
  return name === undefined ? 'no connection' : `no connection (${name})`;
}

/** Does the same for the operator. It contains nothing of a message. */
export function connectionFaultForLog(error: unknown): string {
  return error instanceof Error && error.message !== '' ? `no answer: ${error.message}` : 'no answer';
}
