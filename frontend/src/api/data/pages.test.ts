import { afterEach, expect, it, vi } from 'vitest';
import { fetchPages } from './pages';

afterEach(() => vi.unstubAllGlobals());

const uids = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ uid: from - index }));

it('all pages are fetched, and an object that moved to the next page is returned once', async () => {
  const paths: string[] = [];
  vi.stubGlobal('fetch', async (path: string) => {
    paths.push(path);
    // A new object was added after the first page was fetched.
    return Response.json(paths.length === 1 ? uids(300, 200) : uids(101, 3));
  });
  const found = await fetchPages<{ uid: number }>('/v1/things?a=1');
  expect(paths).toEqual([
    '/v1/things?a=1&limit=200&offset=0',
    '/v1/things?a=1&limit=200&offset=200',
  ]);
  expect(found.map(({ uid }) => uid)).toEqual([...uids(300, 202)].map(({ uid }) => uid));
});
