import type { Access, FoundKeys, Key } from './answers.ts';
import { card, chip, element, facts, failure, nothing, table } from './element.ts';
import { ask, Failure } from './session.ts';
import { counted, moment, number } from './wording.ts';

const states = ['ACTIVE', 'LOCKED', 'ON_HOLD', 'EXPIRED', 'REVOKED', 'CONSUMED', 'REMOVED', 'LEFT_BEHIND'];

interface Who {
  readonly tenants: readonly string[];
  readonly operator: string;
  readonly access: Access;
}

/** Search for keys, and one key with its unlocking. */
export class KeysPage {
  readonly node = element('div', { class: 'stack' });
  readonly #who: Who;
  readonly #search: HTMLElement;
  readonly #results = element('div', { class: 'stack' });
  readonly #status = element('p', { role: 'status', class: 'quiet' });
  readonly #text = element('input', { id: 'key-text', type: 'search', autocomplete: 'off', spellcheck: 'false', maxlength: '256' });
  readonly #tenant: HTMLSelectElement;
  readonly #state: HTMLSelectElement;
  #found: Key[] = [];
  #looked = 0;

  constructor(who: Who) {
    this.#who = who;
    this.#tenant = select('key-tenant', who.tenants);
    this.#state = select('key-state', states);
    const form = element(
      'form',
      { class: 'search', role: 'search', 'aria-label': 'Keys' },
      field('key-text', 'Name or beginning of the reference', this.#text),
      field('key-tenant', 'Tenant', this.#tenant),
      field('key-state', 'State', this.#state),
      element('button', { type: 'submit', class: 'main' }, 'Search'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#run(undefined);
    });
    this.#search = element(
      'div',
      { class: 'stack' },
      element('h1', {}, 'Keys'),
      element('div', { class: 'card' }, form),
      this.#status,
      this.#results,
    );
  }

  /** Shows the search, with what was found before. */
  async showSearch(): Promise<void> {
    const isFirst = this.#search.parentNode === null && this.#found.length === 0;
    this.node.replaceChildren(this.#search);
    if (isFirst) await this.#run(undefined);
  }

  /** Shows one key. */
  async showKey(reference: string): Promise<void> {
    const back = element('a', { href: '#keys', class: 'back' }, '← All keys');
    try {
      const key = await ask<Key>(`keys/${encodeURIComponent(reference)}`);
      this.node.replaceChildren(back, element('h1', { tabindex: '-1' }, nameOf(key)), this.#keyCard(key));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.node.replaceChildren(back, element('h1', { tabindex: '-1' }, 'Key'), failure(error.message));
    }
  }

  /** @param after where an earlier search stopped */
  async #run(after: string | undefined): Promise<void> {
    const query = new URLSearchParams({ text: this.#text.value });
    if (this.#tenant.value !== '') query.set('tenant', this.#tenant.value);
    if (this.#state.value !== '') query.set('state', this.#state.value);
    if (after !== undefined) query.set('after', after);
    this.#status.textContent = 'Searching …';
    try {
      const { keys, next, looked } = await ask<FoundKeys>(`keys?${query.toString()}`);
      this.#found = after === undefined ? [...keys] : [...this.#found, ...keys];
      this.#looked = looked + (after === undefined ? 0 : this.#looked);
      this.#showFound(next, after === undefined ? 0 : this.#found.length - keys.length);
    } catch (error) {
      this.#status.textContent = '';
      this.#results.replaceChildren(failure(error instanceof Error ? error.message : String(error)));
    }
  }

  #showFound(next: string | null, firstNew: number): void {
    const rows = this.#found.map((key) => [
      element('a', { href: `#keys/${key.reference}` }, nameOf(key)),
      key.tenant,
      stateChip(key.state),
      element('span', { class: 'whole' }, `${key.type} · ${lowered(key.protocol)}`),
      moment(key.notAfter),
      element('code', { class: 'reference' }, key.reference.slice(0, 12), '…'),
    ]);
    const columns = ['Name', 'Tenant', 'State', 'Kind', 'Not after (UTC)', 'Reference'];
    const found = counted(this.#found.length, 'key');
    this.#status.textContent = next === null ? `${found}.` : `${found} so far; ${number(this.#looked)} were looked at.`;
    const more = element('button', { type: 'button' }, 'Search further');
    more.addEventListener('click', () => {
      void this.#run(next ?? undefined);
    });
    const empty = next === null ? 'No key matches. Try fewer letters of the name, or another state.' : 'None of these keys matches.';
    this.#results.replaceChildren(
      element('div', { class: 'card' }, this.#found.length === 0 ? nothing(empty) : table('Keys', columns, rows)),
      ...(next === null ? [] : [more]),
    );
    // Whoever asked for more by keyboard goes on at the first of them.
    if (firstNew > 0) this.#results.querySelectorAll('tbody a')[firstNew]?.parentElement?.querySelector('a')?.focus();
  }

  #keyCard(key: Key): HTMLElement {
    const attempts = `${counted(key.remainingAttempts, 'attempt')} left, ${counted(key.failuresSinceSuccess, 'failure')} since the last success`;
    const made = card(
      'Key and certificate',
      facts([
        ['State', key.lockedUntil === null ? stateChip(key.state) : [stateChip(key.state), ' until ', moment(key.lockedUntil), ' UTC']],
        ['Attempts', attempts],
        ['Subject', key.subject],
        ['Tenant', key.tenant],
        ['Type', key.type],
        ['Activated by', key.protocol],
        ['Created (UTC)', moment(key.created)],
        ['Not after (UTC)', moment(key.notAfter)],
        ['Reference', element('code', { class: 'reference' }, key.reference)],
        ['CKA_ID on the token', element('code', { class: 'reference' }, key.tokenId)],
      ]),
    );
    made.append(this.#unlocking(key));
    return made;
  }

  #unlocking(key: Key): HTMLElement {
    const said = element('p', { role: 'status', tabindex: '-1' });
    if (this.#who.access !== 'operate')
      return element(
        'p',
        { class: 'quiet' },
        `The configuration lets the console unlock no keys; signetctl key unlock ${key.reference} does.`,
      );
    if (key.failuresSinceSuccess === 0 && key.state !== 'LOCKED')
      return element('p', { class: 'quiet' }, 'No wrong attempt is counted, so that there is nothing to unlock.');
    const button = element('button', { type: 'button', class: 'main' }, key.state === 'LOCKED' ? 'Unlock …' : 'Reset attempts …');
    button.addEventListener('click', () => {
      this.#confirm(key, button, said);
    });
    return element('div', { class: 'actions' }, button, said);
  }

  #confirm(key: Key, button: HTMLButtonElement, said: HTMLElement): void {
    const cancel = element('button', { type: 'button' }, 'Cancel');
    const unlock = element('button', { type: 'button', class: 'main' }, 'Unlock');
    const dialog = element(
      'dialog',
      { 'aria-labelledby': 'unlock-title', 'aria-describedby': 'unlock-text' },
      element('h2', { id: 'unlock-title' }, 'Unlock this key?'),
      element(
        'p',
        { id: 'unlock-text' },
        `The key of ${nameOf(key)} gets all its attempts again. The audit log records this with your name: ${this.#who.operator}.`,
      ),
      element('div', { class: 'actions' }, cancel, unlock),
    );
    cancel.addEventListener('click', () => {
      dialog.close();
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      button.focus();
    });
    unlock.addEventListener('click', () => {
      unlock.disabled = true;
      void this.#unlock(key, said).finally(() => {
        dialog.close();
      });
    });
    this.node.append(dialog);
    dialog.showModal();
    cancel.focus();
  }

  async #unlock({ reference }: Key, said: HTMLElement): Promise<void> {
    try {
      const key = await ask<Key>(`keys/${reference}/unlock`, { method: 'POST' });
      const done = element('p', { class: 'notice good', role: 'status' }, `Unlocked. The state of the key is ${key.state}.`);
      this.node.replaceChildren(...[...this.node.children].slice(0, 2), done, this.#keyCard(key));
      // The search shows the state of before.
      this.#found = [];
      this.#search.remove();
    } catch (error) {
      said.className = 'notice bad';
      said.textContent = error instanceof Error ? error.message : String(error);
    }
  }
}

/** The common name, or the whole subject. */
function nameOf({ subject }: Key): string {
  return /(?:^|[,+] ?)CN=((?:\\.|[^,+\\])+)/i.exec(subject)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? subject;
}

function stateChip(state: string): HTMLElement {
  const tones = { ACTIVE: 'good', LOCKED: 'bad', ON_HOLD: 'warn' } as const;
  const tone = Object.entries(tones).find(([name]) => name === state)?.[1] ?? 'plain';
  return chip(lowered(state), tone);
}

/** `ON_HOLD` as `on hold`. */
function lowered(name: string): string {
  return name.toLowerCase().replaceAll('_', ' ');
}

function field(id: string, label: string, control: HTMLElement): HTMLElement {
  return element('div', { class: 'field' }, element('label', { for: id }, label), control);
}

function select(id: string, values: readonly string[]): HTMLSelectElement {
  const options = values.map((value) => element('option', { value }, id === 'key-state' ? lowered(value) : value));
  return element('select', { id }, element('option', { value: '' }, 'all'), ...options);
}
