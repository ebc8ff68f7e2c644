/** Dialog that exports a database to a location that is not stored, as RDB files for other programs. */
import { NativeSelect } from '@mantine/core';
import { backupsQuery, startExport } from '@/api/data/backups';
import type { Bdb } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { useForm } from '@/ui/forms/useForm';
import { LocationFields } from '../locations/LocationFields';
import { credentialsError } from '../locations/locationForm';
import { LOCATION_CHOICES, type LocationTypeName, locationType } from '../locations/locationTypes';
import { RecipientsField } from '../locations/RecipientsField';
import { exportRequest, NEW_EXPORT } from './exportForm';

interface Props {
  bdb: Bdb;
  onClose: () => void;
}

export function ExportDialog({ bdb, onClose }: Props) {
  const form = useForm(NEW_EXPORT);
  const invalidateAfter = useInvalidateAfter(backupsQuery);
  const { location } = form.values;
  const missing = Object.keys(location.fields).length > 0 && credentialsError(location, false);
  return (
    <FormDialog
      title={`Export ${bdb.name}`}
      action="Export database"
      size="lg"
      request={exportRequest(form.values)}
      onSubmit={(request) => invalidateAfter(startExport(bdb.uid, request))}
      onClose={onClose}
    >
      {(fieldError) => (
        <>
          <span>
            The nodes write one RDB file per shard, compressed with gzip. Other programs can read
            these files. Clients are served during the export.
          </span>
          <NativeSelect
            label="Type"
            description={locationType(location.type)?.help}
            data-autofocus
            value={location.type}
            onChange={(event) =>
              form.set({
                location: { type: event.currentTarget.value as LocationTypeName, fields: {} },
              })
            }
            data={LOCATION_CHOICES}
          />
          <LocationFields values={location} onChange={(values) => form.set({ location: values })} />
          {missing && <span className="dim">{missing}</span>}
          <RecipientsField
            description="Optional; one per line, in the age format. The files are then encrypted, and only the private key of one of them can decrypt them."
            error={fieldError('recipients')}
            {...form.value('recipients')}
          />
        </>
      )}
    </FormDialog>
  );
}
