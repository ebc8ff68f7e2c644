/** Switch that keeps the copies of a database in different zones. */
import { Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { policyQuery } from '@/api/cluster/policy';

interface Props {
  checked: boolean;
  /** Whether the database has replicas. */
  replication: boolean;
  error: ReactNode;
  onChange: (checked: boolean) => void;
}

export function RackAwareness({ checked, replication, error, onChange }: Props) {
  const policy = useQuery(policyQuery).data;
  const isAvailable = policy?.rack_aware === true;
  return (
    <Switch
      label="Rack-zone awareness"
      description={
        isAvailable || !policy
          ? 'Primary and replica are always in different zones, so the database survives the loss of a zone. Requires replicas, and nodes in at least two zones.'
          : 'Primary and replica are in different zones. To use it, set the zone of each node on the Nodes page, and turn on rack-zone awareness on the Settings page.'
      }
      checked={checked}
      // An existing setting can always be turned off.
      disabled={!checked && (!isAvailable || !replication)}
      error={error}
      aria-invalid={error ? true : undefined}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}
