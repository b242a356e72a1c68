/** Result of one check. `text` says what was found and, if there is a problem, what to do. */
export interface Diagnosis {
  readonly part: string;
  readonly state: 'good' | 'warning' | 'fault';
  readonly text: string;
}

export const good = (part: string, text: string): Diagnosis => ({ part, state: 'good', text });
export const warning = (part: string, text: string): Diagnosis => ({ part, state: 'warning', text });
export const fault = (part: string, text: string): Diagnosis => ({ part, state: 'fault', text });
