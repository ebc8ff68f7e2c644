/** What the shards and proxies of each database prove to each other, and how it is replaced. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import { certificatesQuery, replaceAuthorities, rotateCertificates } from '@/api/certificates';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS } from '@/api/session';
import type { Certificates } from '@/api/types';
import { useThenAskAgain } from '@/api/useThenAskAgain';
import { Stamp } from '@/ui/Ago';
import { Ask } from '@/ui/Ask';
import { Card } from '@/ui/Card';
import { type Column, DataTable } from '@/ui/DataTable';
import classes from './settings.module.css';

type Shown = Certificates['data_internode_encryption'][number];

/** Milliseconds between two looks while an authority is being replaced, and at other times: the removal of a node begins it, too. */
const FOLLOW = 2000;
const LOOK = 15_000;
/** By the step that shards are being told of. */
const STEPS: Record<string, string> = {
  announced: 'Step 1 of 3: the next authority is trusted, too',
  shown: 'Step 2 of 3: certificates of the next authority are shown',
  forgotten: 'Step 3 of 3: the one before is forgotten',
};

export function ShardCertificates({ may }: { may: boolean }) {
  const { data, error } = useQuery({
    ...certificatesQuery,
    refetchInterval: ({ state }) =>
      state.data?.data_internode_encryption.some(({ replacing }) => replacing) ? FOLLOW : LOOK,
  });
  const bdbs = useQuery(bdbsQuery).data;
  const [dialog, setDialog] = useState<'rotate' | 'replace'>();
  const close = () => setDialog(undefined);
  const then = useThenAskAgain(certificatesQuery);
  const shown = data?.data_internode_encryption;
  const off = !may || !shown?.length;
  const why = may ? undefined : ROLE_FORBIDS;
  return (
    <div className={classes.form}>
      <Card title="Certificates between nodes">
        <p className={classes.words}>
          Shards and proxies of an encrypted database let in only who shows a certificate of an
          authority that is this database’s alone. Certificates are renewed by themselves; when a
          node is removed, the authorities are replaced, so that what it had opens nothing.
        </p>
        {error && !data && <Alert color="red">{messageOf(error)}</Alert>}
        {!shown && !error && <Skeleton height={80} />}
        {shown?.length === 0 && (
          <p className={classes.words}>No database encrypts what its nodes say to each other.</p>
        )}
        {shown && shown.length > 0 && (
          <DataTable
            label="Certificates between nodes"
            rows={shown}
            rowKey={({ uid }) => uid}
            columns={columnsOf((uid) => bdbs?.find((bdb) => bdb.uid === uid)?.name)}
          />
        )}
        <Group gap="xs" mt="sm">
          <Button variant="default" disabled={off} title={why} onClick={() => setDialog('rotate')}>
            New certificates…
          </Button>
          <Button variant="default" disabled={off} title={why} onClick={() => setDialog('replace')}>
            Replace the authorities…
          </Button>
        </Group>
      </Card>
      {dialog === 'rotate' && (
        <Ask
          title="New certificates for all encrypted databases?"
          action="Make new ones"
          onConfirm={() => then(rotateCertificates())}
          onClose={close}
        >
          <span>
            They are of the same authorities and shown from the next connection on; open ones stay.
            Who holds one of before is still let in until it ends.
          </span>
        </Ask>
      )}
      {dialog === 'replace' && (
        <Ask
          title="Replace the authorities of all encrypted databases?"
          action="Replace them"
          onConfirm={() => then(replaceAuthorities())}
          onClose={close}
        >
          <span>
            Order it when somebody may have copied a key from a node. Clients notice nothing. It
            takes some seconds, or waits for a node that cannot be reached and may be alive. After
            it, no certificate of before opens a shard; connections that are open stay until they
            end.
          </span>
        </Ask>
      )}
    </div>
  );
}

const columnsOf = (nameOf: (uid: number) => string | undefined): Column<Shown>[] => [
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
    header: 'Certificate until',
    sort: ({ valid_until }) => valid_until,
    cell: ({ valid_until }) => <Stamp time={valid_until} />,
  },
  {
    id: 'authority',
    header: 'Authority',
    cell: ({ authority, replacing }) => STEPS[replacing] ?? `SHA-256 ${authority.slice(0, 16)}…`,
  },
];
