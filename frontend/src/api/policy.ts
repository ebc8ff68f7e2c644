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

export const readPolicy = () => request<Policy & Record<string, Value>>('GET', POLICY);

export const readSettings = () => request<Readonly<Record<string, Value>>>('GET', CLUSTER);

export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: readPolicy,
  // Nothing announces a changed policy.
  staleTime: 30_000,
});

/** Settings of the cluster that are not part of its policy; objects and lists are not for forms. */
export const settingsQuery = queryOptions({
  queryKey: ['cluster-settings'],
  queryFn: readSettings,
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
