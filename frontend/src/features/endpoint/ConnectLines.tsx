/** One client at a time: the lines that connect it. */
import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { CopyBlock } from '@/ui/Copy';
import { CLIENTS, type Connection, caLine, LANGUAGES } from './connect';
import classes from './endpoint.module.css';

export function ConnectLines({ to }: { to: Connection }) {
  const [chosen, choose] = useState('valkey-cli');
  const client = CLIENTS.find(({ id }) => id === chosen) ?? CLIENTS[0];
  if (!client) return null;
  return (
    <div className={classes.connect}>
      <NativeSelect
        aria-label="Client"
        value={client.id}
        onChange={(event) => choose(event.currentTarget.value)}
        data={LANGUAGES.map((group) => ({
          group,
          items: CLIENTS.filter(({ language }) => language === group).map(({ id, label }) => ({
            value: id,
            label,
          })),
        }))}
      />
      {to.tls && (
        <CopyBlock text={caLine(location.origin)} label="Copy the line that saves the CA" />
      )}
      <CopyBlock text={client.lines(to)} label={`Copy lines for ${client.label}`} />
      <span className="dim small">
        {to.cluster
          ? 'Any address of the endpoint will do to begin with: the client learns the others from it.'
          : 'Every address of the endpoint serves the whole database.'}
        {to.tls && " The endpoint's certificate is checked with the console's CA, ca.pem."}
      </span>
    </div>
  );
}
