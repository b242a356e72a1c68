import { ConsoleLinkView } from '../admin/views.ts';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';

/** `console`: a link that signs the caller in to the operator console. */
export async function openConsole(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'console' }, ConsoleLinkView);
  const { address, code, endsAt } = result;
  const isSocket = !/:\d+$/.test(address);
  const url = `http://${isSocket ? 'localhost:9443' : reachable(address)}/console/#code=${code}`;
  const forward = isSocket
    ? [`the operations listener is a Unix socket; forward it first: ssh -L 9443:${address.startsWith('/') ? address : 'SOCKET'} HOST`]
    : [`from another machine, forward the port first: ssh -L ${portOf(address)}:${reachable(address)} HOST`];
  return {
    json: { url, endsAt },
    text: `${url}\n`,
    notes: [...notes, `the link signs in once, until ${endsAt}; whoever has it acts in your name`, ...forward],
  };
}

/** A listener on all addresses is reached over loopback. */
function reachable(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}
