import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError, OfflineError, onSessionEnded, request } from './http';

const answered = vi.fn();
const signedOut = vi.fn();
const unauthorized = () => Response.json({ description: 'Log in first.' }, { status: 401 });

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  onSessionEnded(signedOut);
});
afterEach(() => {
  answered.mockReset();
  signedOut.mockReset();
  vi.unstubAllGlobals();
});

describe('request', () => {
  it('calls the sign-out listener when the session has ended', async () => {
    answered.mockImplementation(async () => unauthorized());
    await expect(request('GET', '/v1/nodes')).rejects.toThrow('Log in first.');
    expect(signedOut).toHaveBeenCalledOnce();
    expect(answered.mock.calls.map(([path]) => path)).toEqual(['/v1/nodes']);
  });

  it('returns the console error for a wrong password', async () => {
    answered.mockImplementation(async () => unauthorized());
    await expect(request('POST', '/v1/session', {})).rejects.toBeInstanceOf(ApiError);
    expect(signedOut).not.toHaveBeenCalled();
  });

  it('reports an unreachable console with a separate error', async () => {
    answered.mockRejectedValue(new TypeError('failed'));
    await expect(request('GET', '/v1/nodes')).rejects.toBeInstanceOf(OfflineError);
  });
});
