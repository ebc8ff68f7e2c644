/** The rules of the cluster: what holds, and what may be said of each. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { Policy } from './types';

const CLUSTER = '/v1/cluster';
const POLICY = `${CLUSTER}/policy`;

export type Value = boolean | number | string;

/** What may be said of a rule, as JSON Schema has it. */
export interface Rule {
  type: 'boolean' | 'integer' | 'string';
  minimum?: number;
  maximum?: number;
  enum?: readonly string[];
  pattern?: string;
  maxLength?: number;
  /** Of text: what it is, in words. */
  description?: string;
  default: Value;
}

export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: read<Policy & Record<string, Value>>(POLICY),
  // Nothing announces a changed policy.
  staleTime: 30_000,
});

/** Settings of the cluster that are not part of its policy; objects and lists are not for forms. */
export const settingsQuery = queryOptions({
  queryKey: ['cluster-settings'],
  queryFn: read<Readonly<Record<string, Value>>>(CLUSTER),
});

/** What may be said of the fields of an object. */
export const rulesQuery = (object: 'policy' | 'cluster') =>
  queryOptions({
    queryKey: ['policy-rules', object],
    queryFn: read<{ properties: Readonly<Record<string, Rule>> }>(
      `/v1/jsonschema?object=${object}`,
    ),
    select: ({ properties }) => properties,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const setPolicy = (changes: Readonly<Record<string, Value>>) =>
  request<Policy>('PUT', POLICY, changes);

export const setSettings = (changes: Readonly<Record<string, Value>>) =>
  request<unknown>('PUT', CLUSTER, changes);

export const restorePolicy = () => request<Policy>('PUT', `${POLICY}/restore_default`);
