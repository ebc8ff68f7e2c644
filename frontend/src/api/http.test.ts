import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError, OfflineError, renewing, request, whenSignedOut } from './http';

const answered = vi.fn();
const signedOut = vi.fn();
const refused = () => Response.json({ description: 'Log in first.' }, { status: 401 });

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  whenSignedOut(signedOut);
});
afterEach(() => {
  answered.mockReset();
  signedOut.mockReset();
  vi.unstubAllGlobals();
});

describe('request', () => {
  it('goes to the login when the session has ended', async () => {
    answered.mockImplementation(async () => refused());
    await expect(request('GET', '/v1/nodes')).rejects.toThrow('Log in first.');
    expect(signedOut).toHaveBeenCalledOnce();
    expect(answered.mock.calls.map(([path]) => path)).toEqual(['/v1/nodes', '/v1/session']);
  });

  it('is sent again when its session was exchanged for another one meanwhile', async () => {
    let fresh = false;
    answered.mockImplementation(async (path: string) =>
      fresh ? Response.json(path === '/v1/nodes' ? ['node 1'] : {}) : refused(),
    );
    let renew: () => void = () => undefined;
    const renewed = renewing(
      new Promise<void>((resolve) => {
        renew = resolve;
      }),
    );
    const asked = request('GET', '/v1/nodes');
    await vi.waitFor(() => expect(answered).toHaveBeenCalledOnce());
    fresh = true;
    renew();
    await renewed;
    expect(await asked).toEqual(['node 1']);
    expect(signedOut).not.toHaveBeenCalled();
  });

  it('says of a wrong password what the console says of it', async () => {
    answered.mockImplementation(async () => refused());
    await expect(request('POST', '/v1/session', {})).rejects.toBeInstanceOf(ApiError);
    expect(signedOut).not.toHaveBeenCalled();
  });

  it('tells a console that is away from one that refuses', async () => {
    answered.mockRejectedValue(new TypeError('failed'));
    await expect(request('GET', '/v1/nodes')).rejects.toBeInstanceOf(OfflineError);
  });
});
