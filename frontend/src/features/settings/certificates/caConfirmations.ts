/** Texts of the confirmations for the steps of replacing the console CA. */
import type { ConsoleCa } from '@/api/types';

export type ConfirmedOperation = 'replace' | 'switch' | 'withdraw';

interface Confirmation {
  title: string;
  action: string;
  /** Whether the operation is destructive. */
  severe?: boolean;
  text: string;
}

const REPLACE: Confirmation = {
  title: 'Replace the console CA?',
  action: 'Announce new CA',
  text: 'The console creates a new CA, which agents trust in addition to the current one. Nothing else changes until you switch to it. Before you switch, distribute the CA bundle to browsers and to clients of endpoints with TLS.',
};

const SWITCH: Confirmation = {
  title: 'Switch to the next CA?',
  action: 'Switch',
  severe: true,
  text: 'For new connections, the console, its agents, and their endpoints serve certificates of the next CA; open connections stay open. Clients that do not trust the next CA can no longer connect. Join tokens that were created earlier become invalid. The previous CA is removed automatically.',
};

const WITHDRAW_REQUEST: Confirmation = {
  title: 'Withdraw the signing request?',
  action: 'Withdraw',
  severe: true,
  text: 'The key of the request is deleted. A certificate that is signed for it can no longer be used.',
};

const WITHDRAW_CA: Confirmation = {
  title: 'Withdraw the next CA?',
  action: 'Withdraw',
  severe: true,
  text: 'The key of the next CA is deleted, and agents trust only the current CA. You can remove the next CA from clients.',
};

export function confirmationOf(operation: ConfirmedOperation, ca: ConsoleCa): Confirmation {
  if (operation === 'withdraw') return ca.request ? WITHDRAW_REQUEST : WITHDRAW_CA;
  return operation === 'switch' ? SWITCH : REPLACE;
}
