import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { bdbsQuery } from './bdbs';
import { usersQuery } from './users';

/** A console that answers nobody, and who has given up waiting for it. */
function silent(): string[] {
  const left: string[] = [];
  vi.stubGlobal('fetch', (path: string, { signal }: RequestInit) => {
    signal?.addEventListener('abort', () => left.push(path));
    return new Promise(() => undefined);
  });
  return left;
}

describe('requests whose readers have gone', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('are ended', () => {
    const left = silent();
    const stop = new QueryObserver(new QueryClient(), usersQuery).subscribe(() => undefined);
    stop();
    expect(left).toEqual(['/v1/users']);
  });

  it('go on where the stream folds into the list that they fetch', () => {
    const left = silent();
    const stop = new QueryObserver(new QueryClient(), bdbsQuery).subscribe(() => undefined);
    stop();
    expect(left).toEqual([]);
  });
});
