/** Drawer with the details of a backup: its files with their progress, and the analysis of its contents. */
import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';
import { usePermission } from '@/api/access/session';
import type { Backup, BackupFile } from '@/api/types';
import { format, formatExact } from '@/lib/format';
import { Stamp } from '@/ui/Ago';
import { Bar } from '@/ui/Bar';
import { CopyInline } from '@/ui/Copy';
import { Dash } from '@/ui/Dash';
import { type Fact, Facts } from '@/ui/Facts';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import { BackupAnalysisView } from './BackupAnalysisView';
import { Duration, Verified } from './BackupCells';
import { BackupGrowthView } from './BackupGrowthView';
import {
  backupStatus,
  compressionText,
  fileStatus,
  isRestorable,
  keptText,
  sizeText,
  slotsText,
  triggerText,
} from './backupText';

interface Props {
  backup: Backup;
  actions: ReactNode;
  onClose: () => void;
}

export function BackupDetails({ backup, actions, onClose }: Props) {
  const { tone, text } = backupStatus(backup);
  const mayRead = usePermission('edit');
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size={720}
      title={`Backup ${backup.uid} of ${backup.bdb_name}`}
      overlayProps={{ backgroundOpacity: 0.1 }}
      transitionProps={{ duration: 120 }}
    >
      <div className={classes.details}>
        <div className={classes.detailsHead}>
          <Status tone={tone} chip>
            {text}
          </Status>
          {actions}
        </div>
        {backup.status === 'running' && <Bar value={backup.progress / 100} label="Progress" />}
        {backup.detail && (
          <p className={classes.detail} role="status">
            {backup.detail}
          </p>
        )}
        <Facts items={factsOf(backup)} />
        <h2>Files</h2>
        <DataTable
          label="Files of the backup"
          columns={FILE_COLUMNS}
          rows={backup.files}
          rowKey={({ first_slot }) => first_slot}
          empty={<p className={classes.none}>No files have been written yet.</p>}
        />
        {mayRead && isRestorable(backup) && (
          <>
            <BackupGrowthView backup={backup.uid} />
            <BackupAnalysisView backup={backup.uid} />
          </>
        )}
      </div>
    </Drawer>
  );
}

function factsOf(backup: Backup): Fact[] {
  return [
    ['Started', <Stamp key="started" time={backup.created_at} />],
    ['Duration', <Duration key="duration" of={backup} />],
    ['Trigger', triggerText(backup)],
    ['Requested by', backup.originator],
    ['Location', backup.location_name],
    ['Folder', backup.path && <CopyInline key="path" text={backup.path} label="Copy folder" />],
    ['Keys', formatExact('count', backup.keys)],
    ['Stored / raw', sizeText(backup)],
    ['Compression', compressionText(backup)],
    ['Encrypted for', backup.recipients.join(', ') || 'Not encrypted'],
    ['Shards', backup.shards_count],
    ['Engine version', backup.engine_version],
    ['Verified', <Verified key="verified" backup={backup} />],
    ['Runs', backup.runs > 1 ? backup.runs : undefined],
    ['Retry', backup.retry_at && <Stamp key="retry" time={backup.retry_at} />],
    [
      'Can be resumed until',
      backup.resumable_until && <Stamp key="resumable" time={backup.resumable_until} />,
    ],
    ['Kept because', keptText(backup)],
    ...(backup.kept_until
      ? [['Kept until', <Stamp key="kept" time={backup.kept_until} />] satisfies Fact]
      : []),
  ];
}

const FILE_COLUMNS: Column<BackupFile>[] = [
  { id: 'slots', header: 'Hash slots', sort: ({ first_slot }) => first_slot, cell: slotsText },
  {
    id: 'shard',
    header: 'Shard',
    sort: ({ shard_uid }) => shard_uid ?? Number.NaN,
    cell: ({ shard_uid, node_uid }) =>
      shard_uid === null ? (
        <Dash reason="Not chosen yet" />
      ) : (
        <span title={`On node ${node_uid}`}>{`redis:${shard_uid}`}</span>
      ),
  },
  {
    id: 'status',
    header: 'Status',
    sort: ({ status }) => status,
    cell: (file) => <FileStatus file={file} />,
  },
  {
    id: 'size',
    header: 'Stored / raw',
    align: 'right',
    sort: ({ bytes }) => bytes,
    descendingFirst: true,
    cell: (file) => <span className="num">{sizeText(file)}</span>,
  },
  {
    id: 'keys',
    header: 'Keys',
    align: 'right',
    sort: ({ keys }) => keys,
    descendingFirst: true,
    cell: ({ keys }) => (
      <span className="num" title={formatExact('count', keys)}>
        {format('count', keys)}
      </span>
    ),
  },
];

function FileStatus({ file }: { file: BackupFile }) {
  const { tone, text } = fileStatus(file);
  return (
    <div className={classes.fileStatus}>
      <Status tone={tone}>{text}</Status>
      {file.status === 'running' && (
        <Bar value={file.progress / 100} label={`Progress of ${slotsText(file)}`} />
      )}
      {file.error && <span className={classes.error}>{file.error}</span>}
    </div>
  );
}
