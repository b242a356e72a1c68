import type { Overview, Service } from './answers.ts';
import { auditPage } from './audit.ts';
import { configurationPage } from './configuration.ts';
import { element, failure } from './element.ts';
import { KeysPage } from './keys.ts';
import { OverviewPage } from './overview.ts';
import { serviceCards } from './service.ts';
import { ask, Failure, isSignedIn, NotSignedIn, signIn, signOut } from './session.ts';
import { momentText } from './wording.ts';

const refreshMs = 5000;
const titles = { overview: 'Overview', keys: 'Keys', audit: 'Audit log', configuration: 'Configuration' } as const;
type PageName = keyof typeof titles;

const content = part('content');
const account = part('account');
const navigation = part('navigation');
const overview = new OverviewPage();
const details = element('div', { class: 'details' });
const overviewNode = element('div', { class: 'stack' }, overview.node, details);
let keys: KeysPage | undefined;
/** Counts the pages shown, so that a late answer changes no other page. */
let shown = 0;
/** Why a sign-in failed. */
let refusal: string | undefined;

async function show(): Promise<void> {
  const code = /^#code=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) await enter(code);
  shown += 1;
  const turn = shown;
  const [name, reference] = place();
  document.title = `${titles[name]} – signetd console`;
  for (const link of navigation.querySelectorAll('a')) {
    if (link.getAttribute('href') === `#${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (name === 'overview') {
    content.replaceChildren(overviewNode);
    await refresh();
    return;
  }
  try {
    const made = await pageOf(name, reference);
    if (turn === shown) content.replaceChildren(made);
    // A key is opened with the keyboard too: its name is what is read next.
    if (turn === shown && reference !== undefined) content.querySelector('h1')?.focus();
  } catch (error) {
    if (turn === shown) content.replaceChildren(element('h1', {}, titles[name]), notShown(error));
  }
}

async function pageOf(name: Exclude<PageName, 'overview'>, reference: string | undefined): Promise<HTMLElement> {
  if (name === 'audit') return auditPage();
  if (name === 'configuration') return configurationPage();
  keys ??= new KeysPage(await ask<Service>('service'));
  if (reference === undefined) await keys.showSearch();
  else await keys.showKey(reference);
  return keys.node;
}

/** The page that the address names, and the reference of a key in it. */
function place(): [PageName, string | undefined] {
  const [, name = '', reference] = /^#([a-z]+)(?:\/([0-9a-f]{40}))?$/.exec(location.hash) ?? [];
  const found = (Object.keys(titles) as PageName[]).find((known) => known === name) ?? 'overview';
  return [found, found === 'keys' ? reference : undefined];
}

/** Signs in with the code of a link, which then disappears from the address and the history. */
async function enter(code: string): Promise<void> {
  history.replaceState(null, '', '#overview');
  keys = undefined;
  try {
    await signIn(code);
    refusal = undefined;
  } catch (error) {
    refusal = error instanceof Error ? error.message : String(error);
  }
}

/** Reads the overview again, and what only operators see. */
async function refresh(): Promise<void> {
  const turn = shown;
  try {
    await overview.refresh();
    const made = isSignedIn() ? await serviceNodes() : [signInCard()];
    if (turn === shown) change(details, made);
  } catch (error) {
    // The overview says itself that signetd does not answer.
    if (error instanceof NotSignedIn) change(details, [signInCard()]);
    else if (!(error instanceof Failure)) throw error;
  }
}

async function serviceNodes(): Promise<HTMLElement[]> {
  const [service, { now }] = await Promise.all([ask<Service>('service'), ask<Overview>('overview')]);
  showAccount(service);
  return serviceCards(service, Date.parse(now));
}

/** Replaces children only where they differ, so that nothing flickers. */
function change(parent: HTMLElement, made: readonly HTMLElement[]): void {
  const isSame =
    parent.children.length === made.length && made.every((child, index) => parent.children[index]?.isEqualNode(child) === true);
  if (!isSame) parent.replaceChildren(...made);
  if (!isSignedIn()) account.replaceChildren();
}

function showAccount({ operator, signedInUntil }: Service): void {
  if (account.dataset['operator'] === operator && account.childElementCount > 0) return;
  account.dataset['operator'] = operator;
  const button = element('button', { type: 'button', class: 'small' }, 'Sign out');
  button.addEventListener('click', () => {
    void signOut()
      .catch(() => undefined)
      .then(() => {
        keys = undefined;
        account.replaceChildren();
        location.hash = '#overview';
        return show();
      });
  });
  account.replaceChildren(element('span', { title: `signed in until ${momentText(signedInUntil)} UTC` }, operator), button);
}

function notShown(error: unknown): HTMLElement {
  if (error instanceof NotSignedIn) return signInCard();
  return failure(error instanceof Error ? error.message : String(error));
}

function signInCard(): HTMLElement {
  return element(
    'section',
    { class: 'card sign-in' },
    element('h2', {}, 'Sign in to see more'),
    ...(refusal === undefined ? [] : [failure(refusal)]),
    element(
      'p',
      {},
      'Keys, certificates, sessions, the audit log and the configuration are for operators. On the machine of the service, run',
    ),
    element('pre', {}, 'signetctl console'),
    element(
      'p',
      {},
      'as root or as an administrator of signetd, and open the link that it prints in this browser. It signs this tab in for eight hours.',
    ),
  );
}

function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no part ${id}`);
  return found;
}

part('skip').addEventListener('click', (event) => {
  event.preventDefault();
  content.focus();
});
addEventListener('hashchange', () => void show());
setInterval(() => {
  if (place()[0] === 'overview' && document.visibilityState === 'visible') void refresh();
}, refreshMs);
document.addEventListener('visibilitychange', () => {
  if (place()[0] === 'overview' && document.visibilityState === 'visible') void refresh();
});
if (isSignedIn()) void ask<Service>('service').then(showAccount, () => undefined);
void show();
