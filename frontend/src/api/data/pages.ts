/** Complete lists from calls that return a limited number of objects. */
import { request } from '../http';

const PAGE = 200;

/** Fetch all objects of a list, page by page. An object that moves to the next page is not returned twice. */
export async function fetchPages<T extends { uid: number }>(path: string): Promise<T[]> {
  const found = new Map<number, T>();
  for (let offset = 0; ; offset += PAGE) {
    const separator = path.includes('?') ? '&' : '?';
    const page = await request<T[]>('GET', `${path}${separator}limit=${PAGE}&offset=${offset}`);
    for (const item of page) found.set(item.uid, item);
    if (page.length < PAGE) return [...found.values()];
  }
}
