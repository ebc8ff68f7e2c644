/** Certificates that shards and proxies of each encrypted database use between nodes, and their replacement. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import {
  certificatesQuery,
  replaceDatabaseCas,
  rotateCertificates,
} from '@/api/cluster/certificates';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { Certificates } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../settings.module.css';

type DatabaseCertificate = Certificates['data_internode_encryption'][number];

/** Polling interval in milliseconds while a CA is being replaced, and at other times. The removal of a node also starts a replacement. */
const BUSY_POLL_MS = 2000;
const IDLE_POLL_MS = 15_000;
/** Descriptions of the steps of a CA replacement. */
const STEPS: Record<string, string> = {
  announced: 'Step 1 of 3: the next CA is also trusted',
  shown: 'Step 2 of 3: certificates of the next CA are served',
  forgotten: 'Step 3 of 3: the previous CA is removed',
};

export function ShardCertificates({ may }: { may: boolean }) {
  const { data, error } = useQuery({
    ...certificatesQuery,
    refetchInterval: ({ state }) =>
      state.data?.data_internode_encryption.some(({ replacing }) => replacing)
        ? BUSY_POLL_MS
        : IDLE_POLL_MS,
  });
  const bdbs = useQuery(shownBdbsQuery).data;
  const [dialog, setDialog] = useState<'rotate' | 'replace'>();
  const close = () => setDialog(undefined);
  const invalidateAfter = useInvalidateAfter(certificatesQuery);
  const certificates = data?.data_internode_encryption;
  const disabled = !may || !certificates?.length;
  const reason = may ? undefined : ROLE_DENIED_TEXT;
  return (
    <div className={classes.form}>
      <Card title="Certificates between nodes">
        <p className={classes.intro}>
          Each encrypted database has a CA, and its shards and proxies accept only certificates of
          this CA. Certificates are renewed automatically. When a node is removed, the CAs are
          replaced, so that the certificates on this node are no longer accepted.
        </p>
        {error && !data && <Alert color="red">{messageOf(error)}</Alert>}
        {!certificates && !error && <Skeleton height={80} />}
        {certificates?.length === 0 && (
          <p className={classes.intro}>No database uses encryption between nodes.</p>
        )}
        {certificates && certificates.length > 0 && (
          <DataTable
            label="Certificates between nodes"
            rows={certificates}
            rowKey={({ uid }) => uid}
            columns={columnsOf((uid) => bdbs?.find((bdb) => bdb.uid === uid)?.name)}
          />
        )}
        <Group gap="xs" mt="sm">
          <Button
            variant="default"
            disabled={disabled}
            title={reason}
            onClick={() => setDialog('rotate')}
          >
            Renew certificates…
          </Button>
          <Button
            variant="default"
            disabled={disabled}
            title={reason}
            onClick={() => setDialog('replace')}
          >
            Replace CAs…
          </Button>
        </Group>
      </Card>
      {dialog === 'rotate' && (
        <SubmitDialog
          title="Renew the certificates of all encrypted databases?"
          action="Renew certificates"
          onConfirm={() => invalidateAfter(rotateCertificates())}
          onClose={close}
        >
          <span>
            The CAs do not change. New connections use the new certificates; open connections stay
            open. Earlier certificates remain valid until they expire.
          </span>
        </SubmitDialog>
      )}
      {dialog === 'replace' && (
        <SubmitDialog
          title="Replace the CAs of all encrypted databases?"
          action="Replace CAs"
          onConfirm={() => invalidateAfter(replaceDatabaseCas())}
          onClose={close}
        >
          <span>
            Replace the CAs if a private key may have been compromised. Clients are not affected.
            The replacement takes a few seconds; if a node is unreachable but may be running, it
            waits for this node. Afterwards, shards reject all earlier certificates. Open
            connections stay open.
          </span>
        </SubmitDialog>
      )}
    </div>
  );
}

const columnsOf = (nameOf: (uid: number) => string | undefined): Column<DatabaseCertificate>[] => [
  {
    id: 'bdb',
    header: 'Database',
    sort: ({ uid }) => nameOf(uid) ?? '',
    cell: ({ uid }) => (
      <Link to="/databases/$uid/configuration" params={{ uid: String(uid) }}>
        {nameOf(uid) ?? `Database ${uid}`}
      </Link>
    ),
  },
  {
    id: 'until',
    optional: true,
    header: 'Certificate valid until',
    sort: ({ valid_until }) => valid_until,
    cell: ({ valid_until }) => <Stamp time={valid_until} />,
  },
  {
    id: 'authority',
    header: 'CA',
    cell: ({ authority, replacing }) => STEPS[replacing] ?? `SHA-256 ${authority.slice(0, 16)}…`,
  },
];
