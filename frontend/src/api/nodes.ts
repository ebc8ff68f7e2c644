/** Nodes, and the token that lets a new one join. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { request } from './http';
import type { JoinToken, Node } from './types';

export const nodesQuery = queryOptions({
  queryKey: ['nodes'],
  queryFn: () => request<Node[]>('GET', '/v1/nodes'),
});

export function useNode(uid: number) {
  return useQuery({ ...nodesQuery, select: (list) => list.find((n) => n.uid === uid) ?? null });
}

export const createJoinToken = () => request<JoinToken>('POST', '/v1/join_tokens', {});
