import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { usersQuery } from './access/users';
import { bdbsQuery } from './databases/bdbs';

/** Stub a console that never responds, and return the paths of aborted requests. */
function stubHangingConsole(): string[] {
  const aborted: string[] = [];
  vi.stubGlobal('fetch', (path: string, { signal }: RequestInit) => {
    signal?.addEventListener('abort', () => aborted.push(path));
    return new Promise(() => undefined);
  });
  return aborted;
}

describe('requests without subscribers', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('are aborted', () => {
    const aborted = stubHangingConsole();
    const stop = new QueryObserver(new QueryClient(), usersQuery).subscribe(() => undefined);
    stop();
    expect(aborted).toEqual(['/v1/users']);
  });

  it('continue if the stream updates the list that they fetch', () => {
    const aborted = stubHangingConsole();
    const stop = new QueryObserver(new QueryClient(), bdbsQuery).subscribe(() => undefined);
    stop();
    expect(aborted).toEqual([]);
  });
});
