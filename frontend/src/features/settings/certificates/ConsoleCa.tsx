/** The console CA and its replacement in two steps (announce, switch). */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import { CA_BUNDLE_PATH, consoleCaQuery } from '@/api/cluster/consoleCa';
import { messageOf } from '@/api/http';
import type { ConsoleCa as CaState } from '@/api/types';
import { Card } from '@/ui/Card';
import classes from '../settings.module.css';
import { AnnounceCaDialog, CaDialog, type CaOperation, type CheckedCertificate } from './CaDialogs';
import { CaFacts } from './CaFacts';

/** Maximum number of listed nodes that are not ready. */
const MAX_LISTED = 8;

export function ConsoleCa({ may }: { may: boolean }) {
  const { data, error } = useQuery(consoleCaQuery);
  const [operation, setOperation] = useState<CaOperation>();
  const [checked, setChecked] = useState<CheckedCertificate>();
  const reason = may ? undefined : ROLE_DENIED_TEXT;
  const actionButton = (label: string, action: CaOperation, disabledReason = '') => (
    <Button
      variant="default"
      disabled={!may || Boolean(disabledReason)}
      title={reason ?? (disabledReason || undefined)}
      onClick={() => setOperation(action)}
    >
      {label}
    </Button>
  );
  const isWaiting = data?.nodes.some(({ waits_for }) => waits_for) ?? false;
  return (
    <div className={classes.form}>
      <Card title="Console CA">
        <p className={classes.intro}>
          The console CA signs the certificates of agents and the console, of endpoints with TLS,
          and of the web UI unless you installed a certificate for it.
        </p>
        {error && (
          <Alert color="red" mb="sm">
            {messageOf(error)}
          </Alert>
        )}
        {!data && !error && <Skeleton height={120} />}
        {data && <CaFacts ca={data.present} />}
        {data?.request && <PendingRequest ca={data.request} />}
        {data?.step && <Step ca={data} />}
        {data?.step === '' && data.nodes.length > 0 && (
          <Alert
            color="yellow"
            mt="sm"
            title="Some nodes have not received the current list of trusted CAs"
          >
            <Waiting nodes={data.nodes} />
          </Alert>
        )}
        <Group gap="xs" mt="sm">
          {data?.step === '' && !data.request && (
            <>
              {actionButton('Replace CA…', 'replace')}
              {actionButton('Create signing request…', 'request')}
            </>
          )}
          {data?.request && (
            <>
              {actionButton('Enter certificate…', 'signed')}
              {actionButton('Withdraw request…', 'withdraw')}
            </>
          )}
          {data?.step === 'announced' && (
            <>
              {actionButton(
                'Switch to next CA…',
                'switch',
                isWaiting ? 'Not all nodes trust the next CA yet' : '',
              )}
              {actionButton('Withdraw next CA…', 'withdraw')}
            </>
          )}
          <Button variant="subtle" component="a" href={CA_BUNDLE_PATH} download="shardboard-ca.pem">
            Download CA bundle
          </Button>
        </Group>
      </Card>
      {operation && data && (
        <CaDialog
          operation={operation}
          ca={data}
          onChecked={setChecked}
          onClose={() => setOperation(undefined)}
        />
      )}
      {checked && <AnnounceCaDialog checked={checked} onClose={() => setChecked(undefined)} />}
    </div>
  );
}

function PendingRequest({ ca }: { ca: NonNullable<CaState['request']> }) {
  return (
    <Alert color="blue" mt="sm" title="Signing request pending">
      <div className={classes.step}>
        <span>
          Have {ca.subject} signed as a CA that can sign certificates and revocation lists and is
          valid for at least 90 days. Then enter the signed certificate.
        </span>
        <Button
          variant="default"
          className={classes.start ?? ''}
          component="a"
          href={`data:application/pkcs10,${encodeURIComponent(ca.csr)}`}
          download="shardboard-ca.csr"
        >
          Download request
        </Button>
      </div>
    </Alert>
  );
}

function Step({ ca }: { ca: CaState }) {
  const waiting = ca.nodes.filter(({ waits_for }) => waits_for);
  const next = ca.step === 'announced' ? ca.following : undefined;
  return (
    <Alert
      color="blue"
      mt="sm"
      title={
        next
          ? 'Step 1 of 2: the next CA is announced'
          : 'Step 2 of 2: all nodes receive certificates of this CA'
      }
    >
      <div className={classes.step}>
        {next ? (
          <>
            <span>
              No certificate of the next CA is served yet. Download the CA bundle and distribute it
              to browsers and to clients of endpoints with TLS. Then switch to the next CA.
            </span>
            <CaFacts ca={next} />
          </>
        ) : (
          <span>The previous CA is removed automatically when no node needs it.</span>
        )}
        <span role="status">
          {waiting.length === 0
            ? 'All nodes are ready.'
            : `Ready: ${ca.nodes.length - waiting.length} of ${ca.nodes.length} nodes. Not ready:`}
        </span>
        {waiting.length > 0 && <Waiting nodes={waiting} />}
      </div>
    </Alert>
  );
}

function Waiting({ nodes }: { nodes: CaState['nodes'] }) {
  return (
    <ul className={classes.waiting}>
      {nodes.slice(0, MAX_LISTED).map(({ uid, addr, waits_for }) => (
        <li key={uid}>
          Node {uid} ({addr}): {waits_for}.
        </li>
      ))}
      {nodes.length > MAX_LISTED && <li>and {nodes.length - MAX_LISTED} more</li>}
    </ul>
  );
}
