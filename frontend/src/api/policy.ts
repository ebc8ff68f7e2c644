/** The rules of the cluster: what holds, and what may be said of each. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { Policy } from './types';

const POLICY = '/v1/cluster/policy';

export type Value = boolean | number | string;

/** What may be said of a rule, as JSON Schema has it. */
export interface Rule {
  type: 'boolean' | 'integer' | 'string';
  minimum?: number;
  maximum?: number;
  enum?: readonly string[];
  default: Value;
}

export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: () => request<Policy & Record<string, Value>>('GET', POLICY),
  // Nothing announces a changed policy.
  staleTime: 30_000,
});

export const rulesQuery = queryOptions({
  queryKey: ['policy-rules'],
  queryFn: async () =>
    (
      await request<{ properties: Readonly<Record<string, Rule>> }>(
        'GET',
        '/v1/jsonschema?object=policy',
      )
    ).properties,
  staleTime: Number.POSITIVE_INFINITY,
});

export const setPolicy = (changes: Readonly<Record<string, Value>>) =>
  request<Policy>('PUT', POLICY, changes);

export const restorePolicy = () => request<Policy>('PUT', `${POLICY}/restore_default`);
