/** The console's certificate authority: what it is, and how it is replaced in two orders. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { authorityQuery, BUNDLE } from '@/api/consoleAuthority';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS } from '@/api/session';
import type { ConsoleAuthority as Told } from '@/api/types';
import { Card } from '@/ui/Card';
import { AskToAnnounce, AuthorityDialog, type Checked, type Order } from './AuthorityDialog';
import { AuthorityFacts } from './AuthorityFacts';
import classes from './settings.module.css';

/** Of nodes that are waited for. */
const MOST = 8;

export function ConsoleAuthority({ may }: { may: boolean }) {
  const { data, error } = useQuery(authorityQuery);
  const [order, setOrder] = useState<Order>();
  const [checked, setChecked] = useState<Checked>();
  const why = may ? undefined : ROLE_FORBIDS;
  const orderButton = (name: string, wanted: Order, off = '') => (
    <Button
      variant="default"
      disabled={!may || Boolean(off)}
      title={why ?? (off || undefined)}
      onClick={() => setOrder(wanted)}
    >
      {name}
    </Button>
  );
  const isWaiting = data?.nodes.some(({ waits_for }) => waits_for) ?? false;
  return (
    <div className={classes.form}>
      <Card title="Authority of the console">
        <p className={classes.words}>
          It signs what agents and the console show each other, what endpoints with TLS show their
          clients, and what this page shows when no certificate was installed.
        </p>
        {error && (
          <Alert color="red" mb="sm">
            {messageOf(error)}
          </Alert>
        )}
        {!data && !error && <Skeleton height={120} />}
        {data && <AuthorityFacts told={data.present} />}
        {data?.request && <Requested told={data.request} />}
        {data?.step && <Step told={data} />}
        {data?.step === '' && data.nodes.length > 0 && (
          <Alert color="yellow" mt="sm" title="Not told yet which authorities count">
            <Waiting nodes={data.nodes} />
          </Alert>
        )}
        <Group gap="xs" mt="sm">
          {data?.step === '' && !data.request && (
            <>
              {orderButton('Replace it…', 'replace')}
              {orderButton('Have it signed by another…', 'request')}
            </>
          )}
          {data?.request && (
            <>
              {orderButton('Enter the certificate…', 'signed')}
              {orderButton('Withdraw the request…', 'withdraw')}
            </>
          )}
          {data?.step === 'announced' && (
            <>
              {orderButton(
                'Change over…',
                'switch',
                isWaiting ? 'Not all nodes trust the next one yet' : '',
              )}
              {orderButton('Withdraw it…', 'withdraw')}
            </>
          )}
          <Button variant="subtle" component="a" href={BUNDLE} download="shardboard-ca.pem">
            Download what clients are to trust
          </Button>
        </Group>
      </Card>
      {order && data && (
        <AuthorityDialog
          order={order}
          told={data}
          onChecked={setChecked}
          onClose={() => setOrder(undefined)}
        />
      )}
      {checked && <AskToAnnounce checked={checked} onClose={() => setChecked(undefined)} />}
    </div>
  );
}

function Requested({ told }: { told: NonNullable<Told['request']> }) {
  return (
    <Alert color="blue" mt="sm" title="A request is open">
      <div className={classes.step}>
        <span>
          Have {told.subject} signed as an authority (CA) that may sign certificates and lists of
          refused ones, for at least 90 days; then enter what you get.
        </span>
        <Button
          variant="default"
          className={classes.start ?? ''}
          component="a"
          href={`data:application/pkcs10,${encodeURIComponent(told.csr)}`}
          download="shardboard-ca.csr"
        >
          Download the request
        </Button>
      </div>
    </Alert>
  );
}

function Step({ told }: { told: Told }) {
  const waiting = told.nodes.filter(({ waits_for }) => waits_for);
  const next = told.step === 'announced' ? told.following : undefined;
  return (
    <Alert
      color="blue"
      mt="sm"
      title={
        next
          ? 'Step 1 of 2: the next authority is announced'
          : 'Step 2 of 2: certificates of this authority are brought to all nodes'
      }
    >
      <div className={classes.step}>
        {next ? (
          <>
            <span>
              Nothing of it is shown yet. Download what clients are to trust, and give it to clients
              of endpoints with TLS, and to browsers; then change over.
            </span>
            <AuthorityFacts told={next} />
          </>
        ) : (
          <span>The former one is forgotten by itself as soon as no node needs it.</span>
        )}
        <span role="status">
          {waiting.length === 0
            ? 'All nodes are ready.'
            : `Ready: ${told.nodes.length - waiting.length} of ${told.nodes.length} nodes. Not yet:`}
        </span>
        {waiting.length > 0 && <Waiting nodes={waiting} />}
      </div>
    </Alert>
  );
}

function Waiting({ nodes }: { nodes: Told['nodes'] }) {
  return (
    <ul className={classes.waiting}>
      {nodes.slice(0, MOST).map(({ uid, addr, waits_for }) => (
        <li key={uid}>
          Node {uid} ({addr}): {waits_for}.
        </li>
      ))}
      {nodes.length > MOST && <li>and {nodes.length - MOST} more</li>}
    </ul>
  );
}
