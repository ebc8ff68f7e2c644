/** Rehearsed faults, where the cluster's policy allows them. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { request } from './http';
import { useMay } from './session';
import type { DrillOrder, DrillReply, Policy } from './types';

const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: () => request<Policy>('GET', '/v1/cluster/policy'),
  // Nothing announces a changed policy.
  staleTime: 30_000,
});

export type DrillKind = DrillOrder['kind'];

export const startDrill = (node: number, order: DrillOrder) =>
  request<DrillReply>('POST', `/v1/nodes/${node}/actions/drill`, order);

/** Why a drill cannot be ordered, and who may change that; undefined when it can, null while it is not known. */
export function useDrillRefusal(): string | undefined | null {
  const admin = useMay('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  if (!admin) return 'Only administrators may order drills.';
  if (!data) return null;
  if (data.drills_enabled) return undefined;
  return 'The policy of this cluster does not allow drills. An administrator allows them by PUT /v1/cluster/policy with {"drills_enabled": true}.';
}

export function useMayDrill(): boolean {
  const admin = useMay('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  return admin && data?.drills_enabled === true;
}
