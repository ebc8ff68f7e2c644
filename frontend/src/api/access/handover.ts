/** API with which a page continues on another console, with the same session, when its own no longer responds. */
import { request } from '../http';
import type { ConsoleReadiness, Handover } from '../types';

const PATH = '/v1/session/handover';
const CHECK_MS = 2_000;

/** Fetch the consoles, and a token for the session of this page. */
export const createHandover = () => request<Handover>('POST', PATH);

/** What a console responds: whether it can serve pages, and whether it leads. */
export interface Answer {
  ready: boolean;
  leads: boolean;
}

/** Ask a console whether it can serve this page. Return null if it does not respond. Without cookies. */
export async function checkConsole(origin: string): Promise<Answer | null> {
  try {
    const response = await fetch(origin + PATH, {
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(CHECK_MS),
    });
    if (!response.ok) return { ready: false, leads: false };
    const { leads }: ConsoleReadiness = await response.json();
    return { ready: true, leads };
  } catch {
    return null;
  }
}

/**
 * Open a path on another console. The token is sent in the body of a form, so that it is in no URL. Without a token, the browser may
 * still have a cookie for that host, or the console asks for a sign-in.
 */
export function openOn(origin: string, path: string, token: string | null): void {
  if (token === null) {
    location.assign(origin + path);
    return;
  }
  // Browsers send `Origin: null` if the policy of the page does not allow the referrer.
  const policy = document.createElement('meta');
  policy.name = 'referrer';
  policy.content = 'strict-origin';
  document.head.append(policy);
  const form = document.createElement('form');
  form.method = 'post';
  form.action = `${origin}/v1/session/continue`;
  for (const [name, value] of Object.entries({ token, next: path })) {
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}
