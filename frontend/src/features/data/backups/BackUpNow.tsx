/** Dialog that starts a backup of a database. It remembers the last location. */
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { backupsQuery, startBackup } from '@/api/data/backups';
import { locationsQuery } from '@/api/data/locations';
import type { Bdb } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { typeLabel } from '../locations/locationTypes';
import { lastLocation, rememberLocation } from './lastLocation';

interface Props {
  bdb: Bdb;
  onClose: () => void;
}

export function BackUpNow({ bdb, onClose }: Props) {
  const { data: locations } = useQuery(locationsQuery);
  const [chosen, setChosen] = useState(() => lastLocation(bdb.uid));
  const invalidateAfter = useInvalidateAfter(backupsQuery);
  const location = locations?.find(({ uid }) => uid === chosen) ?? locations?.[0];
  return (
    <FormDialog
      title={`Back up ${bdb.name}`}
      action="Back up now"
      request={location?.uid}
      onSubmit={(uid) => {
        rememberLocation(bdb.uid, uid);
        return invalidateAfter(startBackup(bdb.uid, uid));
      }}
      onClose={onClose}
    >
      {locations?.length === 0 ? (
        <p>
          No location is configured yet. An administrator can add one on the{' '}
          <Link to="/databases/backups">Backups</Link> page.
        </p>
      ) : (
        <NativeSelect
          label="Location"
          description="The nodes write one file per shard. The database keeps serving clients during the backup."
          data-autofocus
          value={String(location?.uid ?? '')}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
          data={(locations ?? []).map((each) => ({
            value: String(each.uid),
            label: `${each.name} (${typeLabel(each.location)})`,
          }))}
        />
      )}
    </FormDialog>
  );
}
