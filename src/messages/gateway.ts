import { readFileSync } from 'node:fs';
import { ConfigError } from '../config/config-error.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { errorCode } from '../telemetry/error-code.ts';

/** Response of a gateway to one message, in the form of the API (sendMessage, senderResponse). */
export interface GatewayAnswer {
  /** Time of the response or of the timeout; milliseconds since epoch. */
  readonly date: number;
  /** Its status code; absent if there is none. */
  readonly responseCode?: string;
  /** URL without query and without the values of placeholders. */
  readonly url: string;
  /** Message identifier assigned by the gateway. */
  readonly messageID?: string;
  /** Its text, or why there is none. */
  readonly freeText?: string;
  /** Message identifier assigned by signetd. */
  readonly ID: string;
}

/** Result of an attempt to pass a message to a gateway. */
export interface Attempt {
  readonly accepted: boolean;
  readonly answer: GatewayAnswer;
  /**
   * For the log: a status, or why there was no response. It contains nothing of the message, the
   * recipient or the gateway's text.
   */
  readonly outcome: string;
}

/** A channel for messages. */
export interface Gateway {
  /** Passes one message to the gateway. Failures of the gateway are returned, never thrown. */
  send(to: string, text: string): Promise<Attempt>;
  /** Closes connections; messages being sent still complete. */
  close(): void;
}

/**
 * Reads the PEM file of the authorities trusted for a gateway's certificate.
 * @throws {ConfigError}
 */
export function readAuthority(path: string, section: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  } catch (error) {
    throw new ConfigError(`${section}.certificateAuthority: ${reasonOf(error)}`);
  }
  throw new ConfigError(`${section}.certificateAuthority: ${path}: the file contains no PEM certificate`);
}

/** Error codes of Node and the mail client, such as ECONNREFUSED. */
const faultName = /\bE[A-Z_]{3,30}\b/;

/**
 * Returns why a gateway could not be reached, for a caller, without names and addresses inside the
 * operator's network. The log has the details.
 */
export function connectionFault(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  if (/certificate|altnames/i.test(text)) return "the gateway's certificate is not trusted";
  const code = errorCode(error);
  const name = faultName.exec(text)?.[0] ?? faultName.exec(code ?? '')?.[0];
  return name === undefined ? 'no connection' : `no connection (${name})`;
}

/** Does the same for the operator. It contains nothing of a message. */
export function connectionFaultForLog(error: unknown): string {
  return error instanceof Error && error.message !== '' ? `no answer: ${error.message}` : 'no answer';
}
