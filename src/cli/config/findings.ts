import { locatedFault } from '../../config/yaml-file.ts';

/** Findings of the checks, each line with the file, its line and column, and the member concerned. */
export class Findings {
  readonly configPath: string;
  readonly faults: string[] = [];
  readonly notes: string[] = [];

  constructor(configPath: string) {
    this.configPath = configPath;
  }

  /** Adds a fault whose text begins with the member; the same fault only once. */
  addFault(text: string): void {
    add(this.faults, locatedFault(this.configPath, text));
  }

  addNote(text: string): void {
    add(this.notes, locatedFault(this.configPath, text));
  }

  at(member: string): Place {
    return {
      fault: (text) => this.addFault(`${member}: ${text}`),
      note: (text) => this.addNote(`${member}: ${text}`),
      tryTo: (work) => {
        try {
          return work();
        } catch (error) {
          const text = faultText(error);
          // Some messages already name the member.
          this.addFault(text.startsWith(`${member}: `) ? text : `${member}: ${text}`);
          return undefined;
        }
      },
    };
  }
}

function add(list: string[], text: string): void {
  if (!list.includes(text)) list.push(text);
}

/** One member of the configuration. */
export interface Place {
  fault(text: string): void;
  note(text: string): void;
  /** Returns the result of the work; undefined if it throws, which is reported as a fault. */
  tryTo<T>(work: () => T): T | undefined;
}

/** Describes an error; common errors of the file system in words. */
export function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const path = 'path' in error && typeof error.path === 'string' ? `${error.path}: ` : '';
  switch ('code' in error ? error.code : undefined) {
    case 'ENOENT':
      return `${path}there is no such file: create it, or correct the path`;
    case 'EACCES':
      return `${path}permission denied: run this as root or as the user of signetd, or correct the mode`;
    case 'EISDIR':
      return `${path}this is a directory: name a file`;
    case 'EROFS':
      return `${path}read-only file system`;
    default:
      return error.message;
  }
}
