/** Pages of the guide, which are part of the web UI. Each is loaded when it is opened. */
import { queryOptions } from '@tanstack/react-query';
import { parseMarkdown } from './markdown';

const pages = import.meta.glob<string>('../../../../docs/guide/*.md', {
  query: '?raw',
  import: 'default',
});

/** Return a page by its name without extension; null if it does not exist. */
export const guideQuery = (page: string) =>
  queryOptions({
    queryKey: ['guide', page],
    queryFn: async () => {
      const load = pages[`../../../../docs/guide/${page}.md`];
      return load ? parseMarkdown(await load()) : null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
