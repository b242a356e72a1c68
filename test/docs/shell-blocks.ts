/** Commands of a page. */
export interface ShellBlock {
  readonly commands: string;
  /** What the page shows as their output, if anything: a block ```text that follows at once, or the other lines of a session. */
  readonly output: string | undefined;
}

interface CodeBlock {
  /** The nearest heading above it, without its number signs and backticks; empty above the second heading of the page. */
  readonly heading: string;
  readonly language: string;
  /** Without the indentation of a list. */
  readonly text: string;
}

/** All blocks of code of a Markdown page, in order; under one heading only, if it is given. */
export function codeBlocks(page: string, heading?: string): CodeBlock[] {
  let current = '';
  const blocks: CodeBlock[] = [];
  for (const match of page.matchAll(/^##+ ([^\n]+)$|^( *)```(\w*)\n(.*?)^\2```$/gms)) {
    const [, newHeading, indentation = '', language = '', text = ''] = match;
    if (newHeading !== undefined) current = newHeading.replaceAll('`', '');
    else blocks.push({ heading: current, language, text: text.replaceAll(new RegExp(`^${indentation}`, 'gm'), '') });
  }
  return blocks.filter((block) => heading === undefined || block.heading === heading);
}

/** The text of the first block in a language, under a heading if it is given. @throws {Error} if there is none */
export function firstBlock(page: string, language: string, heading?: string): string {
  const block = codeBlocks(page, heading).find((one) => one.language === language);
  if (block === undefined) throw new Error(`no block ${language} under "${heading ?? ''}"`);
  return block.text;
}

/**
 * The blocks ```sh of a Markdown page, and the commands of its blocks ```console, in order; under one heading only, if it is given. A block
 * ```console is a session: commands after `$ `, each followed by its output.
 */
export function shellBlocks(page: string, heading?: string): ShellBlock[] {
  const blocks = codeBlocks(page, heading);
  return blocks.flatMap(({ language, text }, index) => {
    const next = blocks[index + 1];
    if (language === 'sh') return [{ commands: text, output: next?.language === 'text' ? next.text : undefined }];
    return language === 'console' ? text.split(/^\$ /m).slice(1).map(sessionPart) : [];
  });
}

/** A command may go on over several lines. */
function sessionPart(text: string): ShellBlock {
  const [commands = ''] = /^(?:[^\n]*\\\n)*[^\n]*\n/.exec(text) ?? [];
  return { commands, output: text.slice(commands.length) };
}
