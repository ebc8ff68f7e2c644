/** Long operations with progress. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { Action } from './types';

export const actionsQuery = queryOptions({
  queryKey: ['actions'],
  queryFn: () => request<Action[]>('GET', '/v2/actions'),
});
