/** API of the cluster policy and settings, and of their schemas. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { Policy } from '../types';

const CLUSTER = '/v1/cluster';
const POLICY = `${CLUSTER}/policy`;

export type SettingValue = boolean | number | string;

/** JSON Schema of one setting. */
export interface SettingSchema {
  type: 'boolean' | 'integer' | 'string';
  minimum?: number;
  maximum?: number;
  enum?: readonly string[];
  pattern?: string;
  maxLength?: number;
  /** For text: expected content, such as "a host name". */
  description?: string;
  default: SettingValue;
}

export const readPolicy = () => request<Policy & Record<string, SettingValue>>('GET', POLICY);

export const readSettings = () => request<Readonly<Record<string, SettingValue>>>('GET', CLUSTER);

export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: readPolicy,
  // No event reports a changed policy.
  staleTime: 30_000,
});

/** Cluster settings that are not part of the policy. Forms ignore objects and lists in the reply. */
export const settingsQuery = queryOptions({
  queryKey: ['cluster-settings'],
  queryFn: readSettings,
});

/** Query for the JSON Schemas of the fields of an object. */
export const settingSchemaQuery = (object: 'policy' | 'cluster') =>
  queryOptions({
    queryKey: ['policy-rules', object],
    queryFn: getQuery<{ properties: Readonly<Record<string, SettingSchema>> }>(
      `/v1/jsonschema?object=${object}`,
    ),
    select: ({ properties }) => properties,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const setPolicy = (changes: Readonly<Record<string, SettingValue>>) =>
  request<Policy>('PUT', POLICY, changes);

export const setSettings = (changes: Readonly<Record<string, SettingValue>>) =>
  request<unknown>('PUT', CLUSTER, changes);

export const resetPolicy = () => request<Policy>('PUT', `${POLICY}/restore_default`);
