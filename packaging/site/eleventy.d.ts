/** The parts of Eleventy and of its Markdown that the site uses; the package has no types. */
declare module '@11ty/eleventy' {
  export interface PageData {
    readonly content: string;
    readonly page: { readonly inputPath: string };
    /** What `addGlobalData` gave under this name. */
    readonly site: { readonly sections: readonly Section[]; readonly version: string };
  }

  interface Section {
    readonly title: string;
    readonly entries: readonly { readonly title: string; readonly file: string }[];
  }

  export interface Token {
    readonly type: string;
    readonly tag: string;
    content: string;
    readonly children: readonly Token[] | null;
    attrGet(name: string): string | null;
    attrSet(name: string, value: string): void;
  }

  export interface Markdown {
    readonly core: { readonly ruler: { push(name: string, rule: (state: { readonly tokens: readonly Token[] }) => void): void } };
  }

  export interface UserConfig {
    addGlobalData(name: string, value: unknown): void;
    addTemplate(path: string, template: { render: (data: PageData) => string }): void;
    amendLibrary(engine: 'md', change: (markdown: Markdown) => void): void;
    setUseGitIgnore(used: boolean): void;
    setTemplateFormats(formats: readonly string[]): void;
  }

  interface Options {
    readonly quietMode: boolean;
    readonly configPath: false;
    readonly config: (config: UserConfig) => void;
  }

  export class Eleventy {
    constructor(input: string, output: string, options: Options);
    disableLogger(): void;
    write(): Promise<void>;
  }
}
