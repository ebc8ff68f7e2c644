/** One client at a time: the lines that connect it. */
import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { CopyBlock } from '@/ui/Copy';
import { CLIENTS, type Connection } from './connect';
import classes from './endpoint.module.css';

export function ConnectLines({ to }: { to: Connection }) {
  const [chosen, choose] = useState('valkey-cli');
  const client = CLIENTS.find(({ id }) => id === chosen) ?? CLIENTS[0];
  if (!client) return null;
  return (
    <div className={classes.connect}>
      <SegmentedControl
        aria-label="Client"
        value={client.id}
        onChange={choose}
        data={CLIENTS.map(({ id, label }) => ({ value: id, label }))}
      />
      <CopyBlock text={client.lines(to)} label={`Copy lines for ${client.label}`} />
      <span className="dim small">
        {to.cluster
          ? 'Any address of the endpoint will do to begin with: the client learns the others from it.'
          : 'Every address of the endpoint serves the whole database.'}
        {to.tls && (
          <>
            {' '}
            The certificate is checked with <a href="/v1/ca">the console's CA</a>: save it as
            ca.pem.
          </>
        )}
      </span>
    </div>
  );
}
