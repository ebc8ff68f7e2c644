/** Restores and imports of a database with their results, newest first. Hidden if there are none. */

import { Alert, Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { usePermission } from '@/api/access/session';
import { cancelAction } from '@/api/cluster/actions';
import { reportQuery, useRestores } from '@/api/data/restores';
import { messageOf } from '@/api/http';
import type { Restore } from '@/api/types';
import { format, formatExact } from '@/lib/format';
import { Ago, Stamp } from '@/ui/Ago';
import { Bar } from '@/ui/Bar';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { type Fact, Facts } from '@/ui/Facts';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { Duration } from '../backups/BackupCells';
import classes from '../data.module.css';
import { ImportReportView } from './ImportReportView';
import { comparisonText, previousDataText, restoreStatus, resultText } from './restoreText';

export function RestoreTable({ bdb }: { bdb: number }) {
  const { data, error } = useRestores(bdb);
  const [opened, setOpened] = useState<number | null>(null);
  if (!data && error) return <Alert color="red">{messageOf(error)}</Alert>;
  if (!data?.length) return null;
  const restore = data.find(({ uid }) => uid === opened);
  return (
    <Card flush title="Restores and imports">
      <DataTable
        label="Restores and imports"
        columns={columnsOf(setOpened)}
        rows={data}
        rowKey={({ uid }) => uid}
        onOpen={({ uid }) => setOpened(uid)}
        initialSort={{ id: 'started', descending: true }}
      />
      {restore && <RestoreDetails restore={restore} onClose={() => setOpened(null)} />}
    </Card>
  );
}

const columnsOf = (onOpen: (uid: number) => void): Column<Restore>[] => [
  {
    id: 'started',
    header: 'Started',
    sort: ({ created_at }) => Date.parse(created_at),
    descendingFirst: true,
    cell: ({ uid, created_at }) => (
      <button type="button" className={classes.open} onClick={() => onOpen(uid)}>
        <Ago time={created_at} />
      </button>
    ),
  },
  { id: 'source', header: 'From', cell: ({ source }) => source },
  {
    id: 'status',
    header: 'Status',
    sort: ({ status }) => status,
    cell: (restore) => {
      const { tone, text } = restoreStatus(restore);
      return (
        <Status tone={tone} title={restore.detail}>
          {text}
        </Status>
      );
    },
  },
  {
    id: 'result',
    header: 'Result',
    cell: (restore) => <span className="num">{resultText(restore)}</span>,
  },
  {
    id: 'mode',
    header: 'Existing keys',
    optional: true,
    cell: ({ kind, mode }) =>
      kind === 'inspection' ? 'Kept' : mode === 'replace' ? 'Replaced' : 'Merged',
  },
  {
    id: 'duration',
    header: 'Duration',
    align: 'right',
    optional: true,
    cell: (restore) => <Duration of={restore} />,
  },
];

function RestoreDetails({ restore, onClose }: { restore: Restore; onClose: () => void }) {
  const { tone, text } = restoreStatus(restore);
  const running = restore.status === 'running';
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size={560}
      title={`${TITLES[restore.kind]} ${restore.uid}`}
      overlayProps={{ backgroundOpacity: 0.1 }}
      transitionProps={{ duration: 120 }}
    >
      <div className={classes.details}>
        <div className={classes.detailsHead}>
          <Status tone={tone} chip>
            {text}
          </Status>
          {running && <CancelRestore restore={restore} />}
        </div>
        {running && <Bar value={restore.progress / 100} label="Progress" />}
        {restore.detail && (
          <p className={classes.detail} role="status">
            {restore.detail}
          </p>
        )}
        <Facts items={factsOf(restore)} />
        {restore.forecast && <ReportOf uid={restore.uid} />}
        <NodeList restore={restore} />
      </div>
    </Drawer>
  );
}

const TITLES = { restore: 'Restore', import: 'Import', inspection: 'Inspection' } as const;

function ReportOf({ uid }: { uid: number }) {
  const { data } = useQuery(reportQuery(uid));
  return data ? <ImportReportView report={data} /> : null;
}

function CancelRestore({ restore }: { restore: Restore }) {
  const may = usePermission('edit');
  const cancel = useSubmit(() => cancelAction(restore.action_uid));
  return (
    <>
      <SubmitButton
        variant="default"
        size="xs"
        disabled={!may}
        loading={cancel.busy}
        title="Keys that have been restored so far are kept"
        onClick={() => cancel.submit()}
      >
        Cancel
      </SubmitButton>
      <RequestError failure={cancel.failure} />
    </>
  );
}

/** Progress of the nodes, each of which writes the keys of its primaries. */
function NodeList({ restore }: { restore: Restore }) {
  return (
    <DataTable
      label="Progress by node"
      columns={NODE_COLUMNS}
      rows={restore.nodes}
      rowKey={({ node_uid }) => node_uid}
      empty={<p className={classes.none}>No node has started yet.</p>}
    />
  );
}

const NODE_COLUMNS: Column<Restore['nodes'][number]>[] = [
  {
    id: 'node',
    header: 'Node',
    sort: ({ node_uid }) => node_uid,
    cell: ({ node_uid }) => node_uid,
  },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status, error }) => (
      <div className={classes.fileStatus}>
        <Status tone={NODE_TONES[status]}>{NODE_STATUSES[status]}</Status>
        {error && <span className={classes.error}>{error}</span>}
      </div>
    ),
  },
  {
    id: 'read',
    header: 'Read',
    align: 'right',
    cell: ({ bytes }) => <Bytes value={bytes} />,
  },
  {
    id: 'keys',
    header: 'Keys',
    align: 'right',
    cell: ({ keys }) => <span className="num">{format('count', keys)}</span>,
  },
];

const NODE_TONES = { running: 'progress', succeeded: 'ok', failed: 'broken' } as const;
const NODE_STATUSES = { running: 'Running', succeeded: 'Complete', failed: 'Failed' } as const;

function factsOf(restore: Restore): Fact[] {
  const common: Fact[] = [
    ['From', restore.source],
    ['Requested by', restore.originator],
    ['Started', <Stamp key="started" time={restore.created_at} />],
    ['Duration', <Duration key="duration" of={restore} />],
  ];
  if (restore.kind === 'inspection') return common;
  return [
    ...common,
    ['Previous keys', previousDataText(restore)],
    ['Key patterns', restore.key_patterns.join(', ') || 'None: all keys'],
    ['Slots', restore.slots || 'All'],
    ['Restored', formatExact('count', restore.restored)],
    ['Expired before the restore', formatExact('count', restore.expired)],
    ['Skipped', formatExact('count', restore.skipped)],
    ...Object.entries(restore.unsupported).map(
      ([reason, count]): Fact => [`Unsupported: ${reason}`, formatExact('count', count)],
    ),
    ['Read', `${format('bytes', restore.bytes)} / ${format('bytes', restore.raw_bytes)}`],
    ['Comparison', comparisonText(restore) ?? 'Not possible for this restore'],
  ];
}
