// @dom
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkConsole, openOn } from './handover';

describe('checkConsole', () => {
  it('sends no cookies, and reads whether the console leads', async () => {
    const fetch = vi.fn(async () => Response.json({ uid: 'b', leads: true }));
    vi.stubGlobal('fetch', fetch);
    expect(await checkConsole('https://b:9443')).toEqual({ ready: true, leads: true });
    expect(fetch).toHaveBeenCalledWith(
      'https://b:9443/v1/session/handover',
      expect.objectContaining({ credentials: 'omit' }),
    );
  });

  it('distinguishes a console without its store from one that does not respond', async () => {
    vi.stubGlobal('fetch', async () => new Response('', { status: 503 }));
    expect(await checkConsole('https://b:9443')).toEqual({ ready: false, leads: false });
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('Failed to fetch');
    });
    expect(await checkConsole('https://b:9443')).toBeNull();
  });
});

describe('openOn', () => {
  afterEach(() => {
    document.head.replaceChildren();
    document.body.replaceChildren();
  });

  it('sends the token in the body of a form, with the origin of the page', () => {
    const submit = vi
      .spyOn(HTMLFormElement.prototype, 'submit')
      .mockImplementation(() => undefined);
    openOn('https://b:9443', '/databases?name=a', 'secret');
    expect(submit).toHaveBeenCalledOnce();
    const form = document.forms[0];
    expect([form?.method, form?.action]).toEqual(['post', 'https://b:9443/v1/session/continue']);
    expect(Object.fromEntries(new FormData(form))).toEqual({
      token: 'secret',
      next: '/databases?name=a',
    });
    expect(document.querySelector('meta[name=referrer]')?.getAttribute('content')).toBe(
      'strict-origin',
    );
  });
});
