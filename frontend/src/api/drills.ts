/** Rehearsed faults, where the cluster's policy allows them. */
import { useQuery } from '@tanstack/react-query';
import { request } from './http';
import { policyQuery } from './policy';
import { useMay } from './session';
import type { DrillOrder, DrillReply } from './types';

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
  return 'The policy of this cluster does not allow drills. An administrator allows them on the page Settings.';
}

export function useMayDrill(): boolean {
  const admin = useMay('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  return admin && data?.drills_enabled === true;
}
