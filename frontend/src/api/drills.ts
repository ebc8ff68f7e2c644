/** API of failure drills, which the cluster policy must allow. */
import { useQuery } from '@tanstack/react-query';
import { request } from './http';
import { policyQuery } from './policy';
import { useMay } from './session';
import type { DrillOrder, DrillReply } from './types';

export type DrillKind = DrillOrder['kind'];

export const startDrill = (node: number, order: DrillOrder) =>
  request<DrillReply>('POST', `/v1/nodes/${node}/actions/drill`, order);

/** Return why drills are not possible and how to change that; undefined if they are possible, null while it is unknown. */
export function useDrillRefusal(): string | undefined | null {
  const admin = useMay('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  if (!admin) return 'Only administrators can start drills.';
  if (!data) return null;
  if (data.drills_enabled) return undefined;
  return 'The policy of this cluster does not allow drills. An administrator can allow them on the Settings page.';
}

export function useMayDrill(): boolean {
  const admin = useMay('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  return admin && data?.drills_enabled === true;
}
