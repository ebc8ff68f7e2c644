/** Step of the import wizard that shows the inspection of the files and lets the user accept losses. */
import { Alert, Button, Checkbox } from '@mantine/core';
import type { Bdb } from '@/api/types';
import { plural } from '@/lib/format';
import { Bar } from '@/ui/Bar';
import type { Form } from '@/ui/forms/useForm';
import classes from '../data.module.css';
import { ImportReportView } from './ImportReportView';
import { canForce, type ImportValues } from './importForm';
import type { Inspection } from './useInspection';

interface Props {
  form: Form<ImportValues>;
  bdb: Bdb;
  inspection: Inspection;
}

export function CheckStep({ form, bdb, inspection }: Props) {
  const { row, report } = inspection;
  if (row?.status === 'failed' || row?.status === 'cancelled')
    return (
      <Alert color="red" title="The files were not inspected">
        {row.detail} Go back and repeat the step.
      </Alert>
    );
  if (!report)
    return (
      <>
        <div className={classes.detailsHead} role="status">
          <span>Inspecting the files. This can take as long as reading them.</span>
          <Button variant="default" size="xs" onClick={inspection.cancel}>
            Cancel inspection
          </Button>
        </div>
        <Bar value={(row?.progress ?? 0) / 100} label="Progress" />
      </>
    );
  return (
    <>
      <ImportReportView report={report} />
      {canForce(report, bdb.eviction_policy) && (
        <Checkbox label="Import anyway, and let the database evict keys" {...form.check('force')} />
      )}
      {report.losses.length > 0 && (
        <Checkbox
          label={`Import without the ${plural(report.lost_keys, 'key')} listed above`}
          {...form.check('acceptLosses')}
        />
      )}
    </>
  );
}
