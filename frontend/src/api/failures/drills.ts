/** API of failure drills, which the cluster policy must allow. */
import { useQuery } from '@tanstack/react-query';
import { usePermission } from '../access/session';
import { policyQuery } from '../cluster/policy';
import { request } from '../http';
import type { DrillReply, DrillRequest, ZoneDrillReply, ZoneDrillRequest } from '../types';

export type DrillKind = DrillRequest['kind'];

export const startDrill = (node: number, body: DrillRequest) =>
  request<DrillReply>('POST', `/v1/nodes/${node}/actions/drill`, body);

/** Start a drill on all nodes of a zone at once. */
export const startZoneDrill = (zone: string, body: ZoneDrillRequest) =>
  request<ZoneDrillReply>('POST', `/v1/zones/${zone}/actions/drill`, body);

/** Return why drills are not possible and how to change that; undefined if they are possible, null while it is unknown. */
export function useDrillUnavailableReason(): string | undefined | null {
  const admin = usePermission('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  if (!admin) return 'Only administrators can start drills.';
  if (!data) return null;
  if (data.drills_enabled) return undefined;
  return 'The policy of this cluster does not allow drills. An administrator can allow them on the Settings page.';
}

export function useCanStartDrill(): boolean {
  const admin = usePermission('administer');
  const { data } = useQuery({ ...policyQuery, enabled: admin });
  return admin && data?.drills_enabled === true;
}
