import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError, OfflineError, request, whenSignedOut } from './http';

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
    expect(answered.mock.calls.map(([path]) => path)).toEqual(['/v1/nodes']);
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
