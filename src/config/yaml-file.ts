import { readFileSync } from 'node:fs';
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml';
import { ConfigError } from './config-error.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { errorCode } from '../telemetry/error-code.ts';

/** Names of members and indices of lists, from the root. */
export type MemberPath = readonly PropertyKey[];

/** A YAML file of the configuration, with the position of each member. */
export class YamlFile {
  readonly path: string;
  readonly value: unknown;
  readonly #root: Node | null;
  readonly #lines: LineCounter;

  private constructor(path: string, value: unknown, root: Node | null, lines: LineCounter) {
    this.path = path;
    this.value = value;
    this.#root = root;
    this.#lines = lines;
  }

  /**
   * Reads and parses a file.
   * @throws {ConfigError} on one line, with line and column if the file is not valid YAML
   */
  static read(path: string): YamlFile {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      throw new ConfigError(`${path}: ${unreadable(error)}`);
    }
    return YamlFile.parse(path, text);
  }

  /** Parses the content of a file, which need not exist. @throws {ConfigError} as `read` */
  static parse(path: string, text: string): YamlFile {
    const lines = new LineCounter();
    // logLevel: warnings quote the file, too.
    const document = parseDocument(text, { strict: true, uniqueKeys: true, prettyErrors: false, lineCounter: lines, logLevel: 'error' });
    const [fault] = document.errors;
    if (fault !== undefined) throw new ConfigError(`${path}:${position(lines, fault.pos[0])}: ${withoutContent(fault.message)}`);
    const alias = unknownAlias(document);
    if (alias !== undefined)
      throw new ConfigError(`${path}:${position(lines, alias)}: this value begins with *, so YAML reads it as an alias: put it in quotes`);
    try {
      return new YamlFile(path, document.toJS(), document.contents, lines);
    } catch (error) {
      throw new ConfigError(`${path}: ${withoutContent(reasonOf(error))}`);
    }
  }

  /**
   * Returns a fault as `file:line:column: member: message`, with the position of the member's name,
   * or of the nearest one around it that is in the file. A member of a section that is not in the
   * file has no position.
   */
  fault(member: MemberPath, message: string): string {
    const name = member.join('.') || '(file)';
    const offset = this.#offsetOf(member.map(String));
    return `${this.path}${offset === undefined ? '' : `:${position(this.#lines, offset)}`}: ${name}: ${message}`;
  }

  /** The same for a text that begins with a member, such as `token.pin: there is no such file`. */
  faultOf(text: string): string {
    const [, member] = /^([\w-]+(?:\.[\w-]+)*): /.exec(text) ?? [];
    return member === undefined ? `${this.path}: ${text}` : this.fault(member.split('.'), text.slice(member.length + 2));
  }

  #offsetOf(path: readonly string[]): number | undefined {
    let node: unknown = this.#root;
    let offset = path.length === 0 ? 0 : undefined;
    for (const name of path) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
        if (pair === undefined) return offset;
        offset = startOf(pair.key) ?? offset;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(name)];
        offset = startOf(node) ?? offset;
      } else return offset;
    }
    return offset;
  }
}

/**
 * Returns a fault of the configuration with its position in the file. The text begins with the
 * member; if the file cannot be parsed, the position is left out.
 */
export function locatedFault(path: string, text: string): string {
  try {
    return YamlFile.read(path).faultOf(text);
  } catch {
    return `${path}: ${text}`;
  }
}

/**
 * Returns a message of the parser without what it quotes of the file, which may be a secret in the
 * wrong place.
 */
function withoutContent(message: string): string {
  return message
    .replace(/(?:: |\\).*$/s, '')
    .replaceAll('\n', ' ')
    .trim();
}

/** Returns the offset of the first alias without an anchor before it. */
function unknownAlias(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = startOf(alias) ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function position(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${Math.max(1, line)}:${Math.max(1, col)}`;
}

function unreadable(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ENOENT') return 'there is no such file (signetctl setup makes one; --config names another)';
  if (code === 'EACCES') return 'permission denied: run this as root, or as a user who may read the file';
  return reasonOf(error);
}
